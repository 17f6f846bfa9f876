import { beforeEach, describe, expect, it } from '@jest/globals'
import { NotLockOwnerError, type FencedLock, type Hold, type LockClient } from '../../src/index.js'
import { fencedKeys, NAME, TOKEN_KEY } from './support/fenced-keys.js'
import { JavaClient } from './support/java-client.js'
import { eventually, soon, useRig } from './support/rig.js'

const rig = useRig()
const keys = fencedKeys(rig)
let locks: LockClient
let lock: FencedLock

beforeEach(async () => {
  // Only messages can end a wait soon: no tick, and no lease that ends.
  locks = await rig.client({ clientName: 'node', resyncInterval: 25_000 })
  lock = locks.getFencedLock(NAME)
})

describe('tokens', () => {
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
    const channel = 'redisson_lock__channel:{order:42}'
    await eventually(async () => (await rig.admin.pubsub('NUMSUB', channel))[1] === 1)
    await hold.release()
    expect(await soon(Promise.race(waiting))).toBe('2')
    await other.unlock()
    expect(await soon(Promise.all(waiting))).toEqual(['2', '3'])
    await other.unlock()
  })

  it('lockAndGetToken and tryLockAndGetToken honour their lease', async () => {
    await lock.lockAndGetToken(8_000)
    await keys.expectTtl(NAME, 8_000)
    await lock.unlock()
    await lock.tryLockAndGetToken(1_000, 90_000)
    await keys.expectTtl(NAME, 90_000)
    await lock.unlock()
    await lock.tryLockAndGetToken()
    await keys.expectTtl(NAME, 30_000)
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
