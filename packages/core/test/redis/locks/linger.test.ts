import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import type { Redis } from 'ioredis'
import { InvalidArgumentError, LockClient, type Hold, type LockClientOptions } from '../../../src/index.js'
import { nextEvent } from '../support/outcomes.js'
import { passer, type Passer } from '../support/passing.js'
import { eventually, soon, useRig } from '../support/rig.js'

const NAME = 'order:42'
const HOUR_MS = 3_600_000
const LINGER_MS = 5

const rig = useRig()
const owners = () => rig.admin.hgetall(NAME)
const isFree = async () => (await rig.admin.exists(NAME)) === 0

interface Lingerer extends Passer {
  /** Time passes when a test says so. */
  readonly clock: never
  readonly time: ManualClock
  readonly lost: string[]
}

async function lingerer(options: LockClientOptions = {}, connection = rig.connection()): Promise<Lingerer> {
  const time = new ManualClock()
  const client = await passer(rig, { runtime: time, lingerMs: LINGER_MS, ...options }, connection)
  const lost: string[] = []
  // Without verifications and what a client asks when it opens.
  const sent = () => client.sent().filter((script) => /^[a-z]{5,7}$/.test(script))
  client.locks.on('lost', ({ owner }) => lost.push(owner))
  return { ...client, sent, clock: undefined as never, time, lost }
}

/** The lock was taken twice, and is idle. @returns who left it */
async function idleAt({ locks, sent }: Lingerer): Promise<string> {
  await (await locks.getLock(NAME).acquire()).release()
  const hold = await locks.getLock(NAME).acquire()
  sent()
  expect(await hold.release()).toBe('released')
  expect(sent()).toEqual([])
  expect(await owners()).toEqual({ [hold.owner]: '1' })
  return hold.owner
}

/** A client that has left the lock idle, and its last owner. */
async function idle(connection?: Redis): Promise<Lingerer & { readonly left: string }> {
  const client = await lingerer({}, connection)
  return { ...client, left: await idleAt(client) }
}

/** The next caller asked Redis. */
async function asks({ locks, sent }: Lingerer, options = {}): Promise<Hold> {
  const hold = await soon(locks.getLock(NAME).acquire(options))
  expect(sent()).toContain('acquire')
  expect(await owners()).toEqual({ [hold.owner]: '1' })
  return hold
}

describe('a lock that this client takes again and again', () => {
  it('stays for its next caller, who needs no command, until the bound is over', async () => {
    const client = await idle()
    const lock = client.locks.getLock(NAME)
    const seen = new Set([client.left])
    for (const take of [() => lock.acquire(), () => lock.tryAcquire(), () => lock.acquire({ waitMs: 100 })]) {
      const hold = (await take())!
      seen.add(hold.owner)
      hold.ensure(20_000)
      await hold.release()
    }
    expect(await lock.withLock((hold) => hold.count)).toBe(1)
    expect(await lock.tryLock()).toBe(true)
    await lock.unlock()
    expect([client.sent(), seen.size]).toEqual([[], 4])
    await client.time.advance(LINGER_MS)
    await eventually(isFree)
    expect(client.sent()).toEqual(['release'])
    expect(client.lost).toEqual([])
  })

  it('is released when the bound is over since it was acquired in Redis, however lately it was used', async () => {
    const client = await idle()
    await client.time.advance(LINGER_MS - 1)
    await (await client.locks.getLock(NAME).acquire()).release()
    expect(await isFree()).toBe(false)
    await client.time.advance(1)
    await eventually(isFree)
    expect(client.sent()).toEqual(['release'])
  })

  it('is released by whoever has it when its timer fires a little early, as those of Node do', async () => {
    const time = new ManualClock()
    const setTimer: typeof time.setTimer = (delayMs, fire) => time.setTimer(delayMs - 0.5, fire)
    const client = await lingerer({ runtime: { now: time.now, wallNow: time.wallNow, setTimer } })
    await idleAt(client)
    const hold = await client.locks.getLock(NAME).acquire()
    await time.advance(LINGER_MS - 0.2)
    await hold.release()
    expect(await isFree()).toBe(true)
  })

  it('is renamed and released as ever by whoever has it when the bound ends', async () => {
    const client = await idle()
    const hold = await client.locks.getLock(NAME).acquire()
    await client.time.advance(LINGER_MS)
    await eventually(async () => hold.owner in (await owners()))
    await hold.verify()
    expect(await hold.release()).toBe('released')
    expect([client.sent(), await isFree()]).toEqual([['rename', 'release'], true])
  })

  it('does not stay after the first time: who takes it once must not keep it for longer', async () => {
    const client = await lingerer()
    await (await client.locks.getLock(NAME).acquire()).release()
    expect(await isFree()).toBe(true)
    await client.time.advance(LINGER_MS + 1)
    await (await client.locks.getLock(NAME).acquire()).release()
    expect([client.sent(), await isFree()]).toEqual([['acquire', 'release', 'acquire', 'release'], true])
  })

  it('is passed on to whoever waits, and idle after the last of them', async () => {
    const client = await lingerer()
    const hold = await client.locks.getLock(NAME).acquire()
    const waiting = [1, 2, 3].map(() => client.locks.getLock(NAME).acquire())
    client.sent()
    await hold.release()
    for (const each of waiting) await (await soon(each)).release()
    expect([client.sent(), await isFree()]).toEqual([[], false])
    await client.time.advance(LINGER_MS)
    await eventually(isFree)
  })

  it('is re-entered by its next caller, and counted (I2)', async () => {
    const client = await idle()
    const lock = client.locks.getLock(NAME)
    await client.locks.run(async () => {
      await lock.withLock(async () => {
        await lock.withLock(async (inner) => expect([inner.count, await lock.getHoldCount()]).toEqual([2, 2]))
        expect(await lock.getHoldCount()).toBe(1)
      })
      expect(await lock.getHoldCount()).toBe(0)
    })
    expect(Object.values(await owners())).toEqual(['1'])
    await client.time.advance(LINGER_MS)
    await eventually(isFree)
  })

  it('lets timers fire beside a loop that takes it', async () => {
    const locks = await rig.client({ lingerMs: LINGER_MS })
    const fired: number[] = []
    setTimeout(() => fired.push(1), 1)
    while (fired.length === 0) await locks.getLock(NAME).withLock(() => undefined)
    await eventually(isFree)
  })
})

describe('while it is idle', () => {
  it('others are refused, and it is locked; then they get it, and it stays nowhere for a second', async () => {
    const client = await idle()
    const others = await rig.client()
    expect(await others.getLock(NAME).tryAcquire()).toBeNull()
    const refused = others.getLock(NAME).acquire({ waitMs: 0 })
    await expect(refused).rejects.toThrow(
      / \(thread \d+\) (holds it, or keeps it idle|has held it, or kept it idle, for)/,
    )
    const inspected = await others.getLock(NAME).inspect()
    expect(inspected?.holders).toMatchObject([{ mayBeIdle: true, threadId: expect.stringMatching(/^[1-9]/) }])
    expect(await client.locks.getLock(NAME).isLocked()).toBe(true)
    const waiting = others.getLock(NAME).acquire()
    await eventually(async () => (await rig.admin.exists(`holdfast:line:{${NAME}}`)) === 1)
    await client.time.advance(LINGER_MS)
    await (await soon(waiting)).release()
    client.sent()
    const twice = async () => {
      for (let i = 0; i < 2; i += 1) await (await client.locks.getLock(NAME).acquire()).release()
      return client.sent()
    }
    expect(await twice()).toEqual(['acquire', 'release', 'acquire', 'release'])
    await client.time.advance(1_000)
    expect(await twice()).toEqual(['acquire', 'release', 'acquire'])
  })

  it.each<[string, (client: Lingerer) => Promise<Hold>]>([
    ['a lease of its own', (client) => asks(client, { leaseMs: 7_000 })],
    ['a token (I9)', (client) => client.locks.getFencedLock(NAME).acquire()],
  ])('a caller that wants %s has it released first', async (_what, take) => {
    const client = await idle()
    const hold = await soon(take(client))
    expect(client.left in (await owners())).toBe(false)
    expect(hold.owner in (await owners())).toBe(true)
    await hold.release()
  })

  it('a lock object without the option takes it, and does not leave it idle', async () => {
    const client = await idle()
    const hold = await client.locks.getLock(NAME, { lingerMs: 0 }).acquire()
    expect(client.sent()).toEqual([])
    await hold.release()
    expect([client.sent(), await isFree()]).toEqual([['release'], true])
  })

  it('close releases it, without waiting for the bound', async () => {
    const client = await idle()
    await soon(client.locks.close())
    expect([client.sent(), await isFree()]).toEqual([['release'], true])
  })

  it('a release of it that fails is told of by release-failed, and is no loss', async () => {
    const connection = rig.connection()
    const client = await idle(connection)
    const failed = nextEvent(client.locks, 'release-failed')
    connection.disconnect()
    await client.time.advance(HOUR_MS)
    expect(await failed).toMatchObject({ lockName: NAME, owner: client.left })
    expect(client.lost).toEqual([])
    await rig.admin.del(NAME)
  })

  it('a caller that aborts in the tick in which it comes leaves it as it is', async () => {
    const client = await idle()
    const abort = new AbortController()
    const taken = client.locks.getLock(NAME).acquire({ signal: abort.signal })
    abort.abort(new Error('enough'))
    // The lock was taken before: whoever holds it has to release it.
    await (await soon(taken)).release()
    await client.time.advance(LINGER_MS)
    await eventually(isFree)
  })

  it('a forced release elsewhere is nobody’s loss, and the next caller does not get it (I1)', async () => {
    const client = await idle()
    const others = await rig.client()
    expect(await others.getLock(NAME).forceUnlock()).toBe(true)
    const theirs = await others.getLock(NAME).acquire()
    await eventually(() => client.sent().includes('release'))
    expect(await client.locks.getLock(NAME).tryAcquire()).toBeNull()
    expect(await owners()).toEqual({ [theirs.owner]: '1' })
    await theirs.release()
    expect(client.lost).toEqual([])
  })

  it('a forced release here ends it, and the next caller asks Redis', async () => {
    const client = await idle()
    expect(await client.locks.getLock(NAME).forceUnlock()).toBe(true)
    await (await asks(client)).release()
    expect(client.lost).toEqual([])
  })

  it('the lock may be deleted in Redis: the next caller learns it as any that is passed a lock: by its rename', async () => {
    const client = await idle()
    await rig.admin.del(NAME)
    const hold = await client.locks.getLock(NAME).acquire()
    await client.time.advance(LINGER_MS)
    await eventually(() => hold.signal.aborted)
    expect(client.lost).toEqual([hold.owner])
  })
})

describe('an idle lock is not taken, but asked for in Redis,', () => {
  it.each<[string, (client: Lingerer) => unknown]>([
    ['when its timer is late', ({ time }) => time.pass(LINGER_MS + 1)],
    ['when the process was paused for longer than its lease (I3)', ({ time }) => time.pass(HOUR_MS)],
    ['when the machine was suspended (I3)', ({ time }) => time.stepWall(HOUR_MS)],
  ])('%s', async (_what, change) => {
    const client = await idle()
    change(client)
    const hold = await asks(client)
    // Others had a round trip in which it was free: it was not taken again in the script that released it.
    await hold.release()
    await client.time.advance(LINGER_MS)
    await eventually(isFree)
    expect(client.lost).toEqual([])
  })

  it('when the connection was lost meanwhile', async () => {
    const client = await idle()
    const session = (client.locks as unknown as { session: { runner: { connectionEpoch: number } } }).session
    const epoch = session.runner.connectionEpoch
    await rig.admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await eventually(() => session.runner.connectionEpoch > epoch)
    await (await asks(client)).release()
    expect(client.lost).toEqual([])
  })
})

describe('the option lingerMs', () => {
  it.each<[string, LockClientOptions]>([
    ['more than 5', { lingerMs: 5.1 }],
    ['more than 50 among Holdfast clients', { lingerMs: 51, interop: 'none' }],
    ['a negative number', { lingerMs: -1 }],
    ['no number', { lingerMs: '5' as never }],
    ['with replicas', { lingerMs: 5, replicas: { acks: 1 } }],
    ['without local passing', { lingerMs: 5, localPassing: false }],
  ])('is refused as %s, of the client and of the lock', (_what, options) => {
    expect(() => rig.clientNow(options)).toThrow(InvalidArgumentError)
    const { lingerMs, ...others } = options
    const locks: LockClient = rig.clientNow(others)
    expect(() => locks.getLock(NAME, { lingerMs })).toThrow(InvalidArgumentError)
    expect(() => locks.getLock(NAME, { lingerMs: 0 })).not.toThrow()
  })

  it.each([
    'getFairLock',
    'getSpinLock',
    'getFencedLock',
    'getReadWriteLock',
    'getNonReentrantLock',
  ] as const)('is refused by %s', async (kind) => {
    const locks = await rig.client({ lingerMs: 5 })
    expect(() => locks[kind](NAME, { lingerMs: 5 } as object)).toThrow(InvalidArgumentError)
  })

  it('counts for a lock without that of the client; 50 among Holdfast clients', async () => {
    const client = await lingerer({ lingerMs: undefined, interop: 'none' })
    const lock = client.locks.getLock(NAME, { lingerMs: 50 })
    for (let i = 0; i < 3; i += 1) await (await lock.acquire()).release()
    expect(client.sent()).toEqual(['acquire', 'release', 'acquire'])
    await client.time.advance(49)
    expect(await isFree()).toBe(false)
    await client.time.advance(1)
    await eventually(isFree)
  })
})
