import { describe, expect, it } from '@jest/globals'
import {
  InvalidArgumentError,
  LockTimeoutError,
  NotLockOwnerError,
  type FencedLock,
  type Hold,
} from '../../../src/index.js'
import { fencedKeys, NAME, TOKEN_KEY } from '../support/fenced-keys.js'
import { JavaClient } from '../support/java-client.js'
import { MessageLog } from '../support/message-log.js'
import { eventually, own, soon, useRig } from '../support/rig.js'

const rig = useRig()
const keys = fencedKeys(rig)
// Only messages can end a wait soon: no tick, and no lease that ends.
const locks = own(() => rig.client({ clientName: 'node', resyncInterval: 25_000 }))
const lock = own(() => locks.getFencedLock(NAME))

describe('tokens of a fenced lock', () => {
  it('are 1 to 5 over mixed calls; a re-entry has that of its acquisition (I9)', async () => {
    expect(await lock.lockAndGetToken()).toBe('1')
    await lock.unlock()
    expect(await lock.tryLockAndGetToken()).toBe('2')
    await lock.unlock()
    const hold = await lock.acquire()
    expect(hold.token).toBe('3')
    await hold.release()
    await locks.run(async () => {
      const outer = await lock.lock()
      expect(await lock.lockAndGetToken(60_000)).toBe('4')
      expect(await lock.tryLockAndGetToken(1_000)).toBe('4')
      expect((await lock.tryAcquire())?.token).toBe('4')
      expect(await lock.withLock((inner) => inner.token)).toBe('4')
      expect([outer.token, outer.count]).toEqual(['4', 4])
      for (let level = 0; level < 4; level += 1) {
        await lock.unlock()
      }
    })
    expect(await lock.getToken()).toBe('4')
    expect(await lock.tryLock()).toBe(true)
    expect(await lock.getToken()).toBe('5')
    await lock.unlock()
    expect(await (await rig.client()).getFencedLock(NAME).getToken()).toBe('5')
  })

  it('are given to explicit threads too', async () => {
    const [one, two] = [locks.thread().getFencedLock(NAME), locks.thread().getFencedLock(NAME)]
    expect(await one.lockAndGetToken()).toBe('1')
    expect(await two.tryLockAndGetToken()).toBeNull()
    expect(await one.lockAndGetToken()).toBe('1')
    await one.unlock()
    await one.unlock()
    expect(await two.lockAndGetToken()).toBe('2')
    await expect(one.unlock()).rejects.toThrow(NotLockOwnerError)
    await two.unlock()
  })

  it('stay readable after the release, and are undefined for a plain lock', async () => {
    const hold: Hold = await lock.acquire()
    await hold.release()
    expect(hold.token).toBe('1')
    const plain = await locks.getLock('another').acquire()
    expect(plain.token).toBeUndefined()
    await plain.release()
  })

  it('a waiter gets its token with the lock, woken by the unlock', async () => {
    const other = (await rig.client({ resyncInterval: 25_000 })).getFencedLock(NAME)
    const hold = await lock.acquire({ leaseMs: 60_000 })
    const waiting = [other.lockAndGetToken(), other.tryLockAndGetToken(20_000)]
    await rig.heard(NAME)
    await hold.release()
    expect(await soon(Promise.race(waiting))).toBe('2')
    await other.unlock()
    expect(await soon(Promise.all(waiting))).toEqual(['2', '3'])
    await other.unlock()
  })

  it('lockAndGetToken and tryLockAndGetToken honour their lease', async () => {
    await lock.lockAndGetToken(8_000)
    await rig.expectTtl(NAME, 8_000)
    await lock.unlock()
    await lock.tryLockAndGetToken(1_000, 90_000)
    await rig.expectTtl(NAME, 90_000)
    await lock.unlock()
    await lock.tryLockAndGetToken()
    await rig.expectTtl(NAME, 30_000)
    await lock.unlock()
  })

  it('go on where a Java client counted, which counts at a re-entry too, and it where we did', async () => {
    const java = new JavaClient(rig.connection())
    expect(await lock.lockAndGetToken()).toBe('1')
    expect(await java.lockAndGetToken(NAME)).toBeNull()
    expect(await keys.counter()).toBe('1')
    await lock.unlock()
    expect(await java.lockAndGetToken(NAME)).toBe('2')
    expect(await java.lockAndGetToken(NAME)).toBe('3')
    expect(await lock.tryLockAndGetToken()).toBeNull()
    expect(await lock.getToken()).toBe('3')
    await java.unlock(NAME)
    expect(await lock.lockAndGetToken()).toBe('4')
    await lock.unlock()
    expect(await java.lockAndGetToken(NAME)).toBe('5')
    await java.unlock(NAME)
    await keys.expectOnly(null, '5')
  })

  it('grow beyond 2^53 (I9)', async () => {
    await rig.admin.set(TOKEN_KEY, '9007199254740993')
    expect(await lock.lockAndGetToken()).toBe('9007199254740994')
    expect(await lock.getToken()).toBe('9007199254740994')
    await lock.unlock()
    const timed = locks.getFencedLock(NAME, { tokens: 'time' })
    expect(await timed.withLock((hold) => hold.token)).toBe('9007199254740995')
    await rig.admin.set(TOKEN_KEY, '9223372036854775806')
    expect(await timed.withLock((hold) => hold.token)).toBe('9223372036854775807')
  })

  it('no level of a plain hold: what the plain lock took has no token to share', async () => {
    const thread = locks.thread()
    const plain = await thread.getLock(NAME).lock()
    const refused = thread.getFencedLock(NAME).lockAndGetToken()
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'name', value: NAME })
    await expect(thread.getFencedLock(NAME).tryLock()).rejects.toThrow(/took by getFencedLock\(\) too/)
    await keys.expectOnly({ [plain.owner]: '1' }, null)
    await plain.release()
    await thread.getFencedLock(NAME).lock()
    expect((await thread.getLock(NAME).lock()).token).toBe('1')
    await thread.getLock(NAME).unlock()
    await thread.getLock(NAME).unlock()
  })
})

describe('options of a fenced lock', () => {
  const now = async (): Promise<bigint> => {
    const [seconds = 0, micros = 0] = await rig.admin.time()
    return BigInt(seconds) * 1_000_000n + BigInt(micros)
  }
  const tokenOf = (of: FencedLock) => of.withLock((hold) => hold.token)

  it("tokens: 'time' is the clock of Redis in microseconds, and at least the last one + 1", async () => {
    const timed = locks.getFencedLock(NAME, { tokens: 'time' })
    const before = await now()
    const first = BigInt(await tokenOf(timed))
    expect(first).toBeGreaterThan(before)
    expect(first).toBeLessThan(await now())
    expect(BigInt(await tokenOf(timed))).toBeGreaterThan(first)
    const ahead = (await now()) + 3_600_000_000n
    await rig.admin.set(TOKEN_KEY, String(ahead))
    expect(await tokenOf(timed)).toBe(String(ahead + 1n))
    expect(await rig.admin.pttl(TOKEN_KEY)).toBe(-1)
  })

  it.each(['counter', 'time'] as const)(
    'tokenTtlMs with %s: a lifetime that each acquisition renews',
    async (tokens) => {
      const expiring = locks.getFencedLock(NAME, { tokens, tokenTtlMs: 90_000 })
      const first = BigInt(await tokenOf(expiring))
      await rig.expectTtl(TOKEN_KEY, 90_000)
      await rig.admin.pexpire(TOKEN_KEY, 5_000)
      const second = await expiring.acquire()
      expect(BigInt(second.token)).toBeGreaterThan(first)
      await rig.expectTtl(TOKEN_KEY, 90_000)
      await second.release()
      await rig.admin.del(TOKEN_KEY)
      const third = BigInt(await tokenOf(expiring))
      expect(tokens === 'time' ? third > BigInt(second.token) : third === 1n).toBe(true)
    },
  )

  it.each([
    ['tokens', 'sometimes'],
    ['tokens', null],
    ['tokenTtlMs', 0],
    ['tokenTtlMs', -1],
    ['tokenTtlMs', 1.5],
    ['tokenTtlMs', Number.NaN],
    ['tokenTtlMs', '1000'],
  ])('%s %p is an InvalidArgumentError that names it', (argument, value) => {
    for (const get of [locks, locks.thread()]) {
      const ask = () => get.getFencedLock(NAME, { [argument]: value })
      expect(ask).toThrow(InvalidArgumentError)
      expect(ask).toThrow(expect.objectContaining({ argument, value }))
    }
  })

  it('name, options, waits and leases are checked as everywhere', async () => {
    expect(() => locks.getFencedLock('')).toThrow(expect.objectContaining({ argument: 'name' }))
    expect(() => locks.getFencedLock(NAME, 'time' as unknown as object)).toThrow(
      expect.objectContaining({ argument: 'options' }),
    )
    await expect(lock.lockAndGetToken(0)).rejects.toMatchObject({ argument: 'leaseMs' })
    await expect(lock.tryLockAndGetToken(-1)).rejects.toMatchObject({ argument: 'waitMs' })
    await locks.close()
    expect(() => locks.getFencedLock(NAME)).toThrow(expect.objectContaining({ code: 'CLIENT_CLOSED' }))
    await expect(lock.getToken()).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
  })
})

describe('what a fenced lock leaves in Redis', () => {
  it('asking for it writes nothing, and its token is 0', async () => {
    expect(await lock.getToken()).toBe('0')
    await keys.expectOnly(null, null)
  })

  it('first acquire: the hash of a plain lock, and a counter of 1 without an end', async () => {
    const log = await MessageLog.open(rig.connection(), rig.admin)
    const hold = await lock.acquire()
    expect(hold.owner).toMatch(/^node~[\w-]{21}:\d+$/)
    await keys.expectOnly({ [hold.owner]: '1' }, '1')
    await rig.expectTtl(NAME, 30_000)
    expect(await rig.admin.pttl(TOKEN_KEY)).toBe(-1)
    expect(await log.take()).toEqual([])
    expect(await hold.release()).toBe('released')
    await keys.expectOnly(null, '1')
    expect(await log.take()).toEqual([['redisson_lock__channel:{order:42}', '0']])
  })

  it('re-entry and partial release: the count alone', async () => {
    await locks.run(async () => {
      const outer = await lock.lock(60_000)
      await lock.lock(5_000)
      await keys.expectOnly({ [outer.owner]: '2' }, '1')
      await rig.expectTtl(NAME, 60_000)
      await lock.unlock()
      await keys.expectOnly({ [outer.owner]: '1' }, '1')
      await lock.unlock()
    })
    await keys.expectOnly(null, '1')
  })

  it('a refused acquire counts nothing', async () => {
    const hold = await lock.acquire({ leaseMs: 30_000 })
    const other = (await rig.slow()).getFencedLock(NAME)
    expect(await other.tryLock()).toBe(false)
    expect(await other.tryLockAndGetToken()).toBeNull()
    expect(await other.tryLockAndGetToken(1, 60_000)).toBeNull()
    expect(await other.tryAcquire({ waitMs: 1 })).toBeNull()
    await expect(other.acquire({ waitMs: 1 })).rejects.toThrow(LockTimeoutError)
    await keys.expectOnly({ [hold.owner]: '1' }, '1')
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(30_000)
    await hold.release()
  })

  it('a name with braces is its own hash tag, and a keyPrefix is part of the name', async () => {
    const prefixed = await rig.client({}, rig.connection({ keyPrefix: 'app:' }))
    await locks.getFencedLock('a{b}c').withLock(() => undefined)
    await prefixed.getFencedLock('x').withLock(() => undefined)
    expect(await prefixed.getFencedLock('x').getToken()).toBe('1')
    expect(await rig.contents()).toEqual({
      'redisson_lock_token:a{b}c': { type: 'string', value: '1' },
      'redisson_lock_token:{app:x}': { type: 'string', value: '1' },
    })
  })

  it('renewal leaves the counter alone', async () => {
    const watched = await rig.client({ lockWatchdogTimeout: 3_000 })
    const hold = await watched.getFencedLock(NAME, { tokenTtlMs: 60_000 }).acquire()
    await rig.admin.pexpire(TOKEN_KEY, 600_000)
    await eventually(async () => (await rig.admin.pttl(NAME)) < 2_500)
    await eventually(async () => (await rig.admin.pttl(NAME)) > 2_600)
    await keys.expectOnly({ [hold.owner]: '1' }, '1')
    expect(await rig.admin.pttl(TOKEN_KEY)).toBeGreaterThan(500_000)
    await hold.release()
  })
})
