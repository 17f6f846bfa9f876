import { expect } from '@jest/globals'
import { WrongTypeError, type Hold, type LockClient, type LockClientOptions } from '../../../src/index.js'
import { batchScript, USUAL_ITEMS } from '../../../src/redis/batch.js'
import { SlowClock } from '../support/slow-clock.js'
import { describe, it, own, useRig } from '../support/together.js'

const rig = useRig({ redis: 'test' })
/** Nothing is sent again because a busy machine is slow. */
const PATIENT = { commandTimeout: 10_000 }

const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `order:${i}`)
const acquireAll = (locks: LockClient, all: readonly string[]): Promise<Hold[]> =>
  Promise.all(all.map((name) => locks.getLock(name).acquire()))
const releaseAll = (holds: readonly Hold[]): Promise<string[]> =>
  Promise.all(holds.map((hold) => hold.release()))

/** Scripts that Redis was asked to run by digest since the last call. */
async function scriptsSince(): Promise<number> {
  const stats = await rig.admin.info('commandstats')
  await rig.admin.config('RESETSTAT')
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

const isBatch = (request: Buffer): boolean => request.includes(batchScript.sha1)

/** Clients load scripts at their first use: what is counted afterwards is the rule. */
async function warmedUp(options: LockClientOptions = {}): Promise<LockClient> {
  const locks = await rig.client({ ...PATIENT, ...options })
  await locks.getLock('warm').withLock(() => undefined)
  await releaseAll(await acquireAll(locks, names(2)))
  await scriptsSince()
  return locks
}
const locks = own(() => warmedUp())

describe('transitions of one turn', () => {
  it('travel as one script, in one turn and in the next', async () => {
    const holds = await acquireAll(locks, names(USUAL_ITEMS))
    expect(await scriptsSince()).toBe(1)
    expect(await releaseAll(holds)).toEqual(holds.map(() => 'released'))
    expect(await scriptsSince()).toBe(1)
  })

  it('travel in as many scripts as it takes', async () => {
    const holds = await acquireAll(locks, names(2 * USUAL_ITEMS + 5))
    expect(await scriptsSince()).toBe(3)
    expect(new Set(holds.map((hold) => hold.owner)).size).toBe(holds.length)
    for (const { lockName, owner } of holds) {
      expect(await rig.admin.hgetall(lockName)).toEqual({ [owner]: '1' })
    }
    await releaseAll(holds)
  })

  it.each([
    [1, 8],
    [3, 3],
    [64, 1],
  ])('travel at most %i together, as commandBatchSize says', async (commandBatchSize, scripts) => {
    const locks = await rig.client({ ...PATIENT, commandBatchSize })
    // `connect` asked, to know whether scripts are allowed.
    await scriptsSince()
    const holds = await acquireAll(locks, names(8))
    expect(await scriptsSince()).toBe(scripts)
    await releaseAll(holds)
  })

  /** So many callers, each with a lock of its own, again and again. */
  const loops = async (locks: LockClient, count: number, rounds: number): Promise<unknown> =>
    Promise.all(
      names(count).map(async (name) => {
        for (let i = 0; i < rounds; i += 1) {
          await locks.getLock(name).withLock(() => undefined)
        }
      }),
    )

  it('go on in quarters as long as their callers do: while some are in Redis the next are made', async () => {
    const rounds = 20
    await loops(locks, USUAL_ITEMS, rounds)
    const scripts = await scriptsSince()
    // Four for the acquires of all, and four for the releases; what a turn leaves over goes by itself.
    expect(scripts).toBeGreaterThan(6 * rounds)
    expect(scripts).toBeLessThanOrEqual(10 * rounds)
  })

  it('go on one by one where there are few: none waits for another', async () => {
    // On a busy machine a round trip may take as long as one to another machine, and those wait for each other.
    await loops(await warmedUp({ runtime: new SlowClock() }), 4, 20)
    expect(await scriptsSince()).toBeGreaterThan(1.5 * 4 * 20)
  })

  it('transitions of one turn of one caller travel as one script also when it was just answered', async () => {
    const first = await locks.getLock('first').acquire()
    const holds = await acquireAll(locks, names(20))
    expect(await scriptsSince()).toBe(2)
    await releaseAll([first, ...holds])
  })

  it('leave in one write where each is a command of its own', async () => {
    const locks = await rig.client({ ...PATIENT, commandBatchSize: 1 })
    await locks.getLock('warm').withLock(() => undefined)
    const reads = async (): Promise<number> =>
      Number(/total_reads_processed:(\d+)/.exec(await rig.admin.info('stats'))?.[1])
    const before = await reads()
    const holds = await acquireAll(locks, names(USUAL_ITEMS))
    // Besides the question itself.
    expect((await reads()) - before - 1).toBeLessThanOrEqual(2)
    await releaseAll(holds)
  })

  it('acquires and releases together', async () => {
    const [a, b] = (await acquireAll(locks, ['a', 'b'])) as [Hold, Hold]
    await scriptsSince()
    const [released, c] = await Promise.all([a.release(), locks.getLock('c').acquire(), b.release()])
    expect(released).toBe('released')
    expect(await scriptsSince()).toBe(1)
    expect(await rig.admin.exists('a', 'b', 'c')).toBe(1)
    await c.release()
  })

  it('one that is alone is a script of its own', async () => {
    await rig.admin.config('SET', 'slowlog-log-slower-than', '0')
    const hold = await locks.getLock('alone').acquire()
    const log = (await rig.admin.slowlog('GET', -1)) as [number, number, number, string[]][]
    const sent = log.map(([, , , args]) => args).filter(([command]) => command?.toLowerCase() === 'evalsha')
    expect(sent).toHaveLength(1)
    expect(sent[0]?.[1]).not.toBe(batchScript.sha1)
    await hold.release()
  })

  it('a question comes after what was asked for before it', async () => {
    const lock = locks.getLock('order')
    const [hold, isLocked] = await Promise.all([lock.acquire(), lock.isLocked()])
    expect(isLocked).toBe(true)
    await hold.release()
  })
})

describe('each as if it had come alone', () => {
  it('another type under one name is the error of that one', async () => {
    await rig.admin.set('order:1', 'mine')
    const [first, second, third] = await Promise.allSettled(
      names(3).map((name) => locks.getLock(name).acquire()),
    )
    expect(second?.status === 'rejected' && (second.reason as unknown)).toBeInstanceOf(WrongTypeError)
    expect(await rig.admin.get('order:1')).toBe('mine')
    for (const each of [first, third]) {
      expect(each?.status).toBe('fulfilled')
      await (each as PromiseFulfilledResult<Hold>).value.release()
    }
    await rig.admin.del('order:1')
  })

  it('a caller that has a lock already is told so, and the others get theirs', async () => {
    const other = await rig.client()
    const held = await other.getLock('order:1').acquire()
    const holds = await Promise.all(names(3).map((name) => locks.getLock(name).tryAcquire()))
    expect(holds.map((hold) => hold !== null)).toEqual([true, false, true])
    expect(await rig.admin.hgetall('order:1')).toEqual({ [held.owner]: '1' })
    await releaseAll(holds.filter((hold) => hold !== null))
    await held.release()
  })
})

describe('when something fails', () => {
  it('a flushed script cache: the batch is sent by its text', async () => {
    await rig.admin.script('FLUSH')
    const holds = await acquireAll(locks, names(5))
    await rig.admin.script('FLUSH')
    expect(await releaseAll(holds)).toEqual(holds.map(() => 'released'))
  })

  it('a probe that is forbidden: each goes by itself', async () => {
    await rig.admin.call('ACL', 'SETUSER', 'default', '-setrange')
    const holds = await acquireAll(locks, names(3))
    expect(await scriptsSince()).toBe(4)
    await releaseAll(holds)
  })

  it('a lost reply: the batch runs twice, and every owner has one hold (I2)', async () => {
    const proxy = await rig.proxy()
    const locks = await rig.client({}, rig.connection({}, proxy))
    await releaseAll(await acquireAll(locks, names(2)))
    // A turn later, when nobody is expected to go on.
    await rig.admin.ping()
    const lost = proxy.loseReply(isBatch)
    const holds = await acquireAll(locks, names(5))
    expect(lost.count).toBe(1)
    for (const { lockName, owner } of holds) {
      expect(await rig.admin.hgetall(lockName)).toEqual({ [owner]: '1' })
    }
    proxy.loseReply(isBatch)
    expect(await releaseAll(holds)).toEqual(holds.map(() => 'released'))
    expect(await rig.admin.exists(...names(5))).toBe(0)
  })
})
