import { describe, expect, it } from '@jest/globals'
import type { LockClient, LockEvents } from '../../../src/index.js'
import { belief, BELIEVES, failureOf, KNOWS_BETTER, nextLoss, renewed } from '../support/outcomes.js'
import { useMovingPrimary } from '../support/moving-primary.js'
import { eventually, signalled, soon } from '../support/rig.js'
import { Stalls } from '../support/stalls.js'

const NAME = 'order:42'
const LEASE_MS = 6_000

// Redis acknowledges a write before its replicas have it. No client can tell; what it owes its holder is to say so
// as soon as it can know, and to harm nobody who came in meanwhile.
describe('a fail-over to a replica without the lock', () => {
  const redis = useMovingPrimary()

  it('lets the next waiter in, and the former holder is told at its next renewal (I1)', async () => {
    const [locks, others] = await Promise.all([
      redis.client({ lockWatchdogTimeout: LEASE_MS }),
      redis.client({ resyncInterval: 20_000 }),
    ])
    redis.cutReplication()
    const hold = await locks.getLock(NAME).acquire()
    const told = nextLoss(locks)
    const waiting = others.getLock(NAME).acquire()
    await redis.someoneWaitsFor(NAME)
    const stalls = new Stalls()
    await redis.failOver()
    const movedAt = performance.now()
    const next = await soon(waiting)
    const { event, atMs } = await told
    expect(event).toMatchObject({ lockName: NAME, owner: hold.owner, error: { reason: 'gone' } })
    expect(belief(hold)).toEqual(KNOWS_BETTER)
    // A third of the lease, and room for the connection and a busy machine.
    expect(atMs - movedAt).toBeLessThan(LEASE_MS / 2 + stalls.end())
    expect(await hold.release()).toBe('lost')
    expect(await redis.holds(NAME)).toEqual([next.owner, '1'])
    await next.verify()
    expect(await next.release()).toBe('released')
  })

  it('ends whatever the former holder does next in a loss, and harms nobody (I1, I2, I6)', async () => {
    const [locks, others] = await Promise.all([redis.client(), redis.client()])
    const thread = locks.thread()
    const names = ['again', 'extended', 'partly', 'released', 'worked']
    const told: string[] = []
    locks.on('lost', ({ lockName }) => told.push(lockName))
    const [again, extended, partly, released, worked] = names.map((name) => thread.getLock(name))
    redis.cutReplication()
    const hold = await extended!.acquire()
    const whole = await released!.acquire()
    await again!.acquire()
    await partly!.acquire()
    const level = await partly!.acquire()
    const [inside, goOn] = [signalled(), signalled()]
    const work = worked!.withLock(async () => {
      inside.resolve()
      await goOn.promise
      return 'the result'
    })
    await inside.promise
    await redis.failOver()
    const strangers = await Promise.all(names.map((name) => soon(others.getLock(name).acquire())))

    expect(await failureOf(again!.acquire())).toMatchObject({ code: 'LOCK_LOST', reason: 'gone' })
    expect(await failureOf(hold.extend(60_000))).toMatchObject({ code: 'LOCK_LOST', reason: 'gone' })
    expect(await level.release()).toBe('lost')
    expect(await whole.release()).toBe('lost')
    goOn.resolve()
    expect(await failureOf(work)).toMatchObject({ code: 'LOCK_LOST', reason: 'gone', result: 'the result' })
    expect(told.sort()).toEqual([...names].sort())

    for (const [i, name] of names.entries()) {
      expect(await redis.holds(name)).toEqual([strangers[i]!.owner, '1'])
      expect(await strangers[i]!.release()).toBe('released')
    }
  })
})

describe('a fail-over to a replica with the lock', () => {
  const redis = useMovingPrimary()

  it('loses nothing: the lock is renewed, stays closed to others, and its release wakes them (I1, I4)', async () => {
    const [locks, others] = await Promise.all([
      redis.client({ lockWatchdogTimeout: LEASE_MS / 2 }),
      redis.client({ resyncInterval: 20_000 }),
    ])
    const hold = await locks.getLock(NAME).acquire()
    const waiting = others.getLock(NAME).acquire()
    await redis.replication.healReplication()
    await redis.failOver()
    // The replica never ran a script, so the first one goes there by its text.
    await hold.verify()
    await redis.someoneWaitsFor(NAME)
    await renewed(hold)
    expect(belief(hold)).toEqual(BELIEVES)
    expect(await redis.holds(NAME)).toEqual([hold.owner, '1'])
    expect(await hold.release()).toBe('released')
    expect(await (await soon(waiting)).release()).toBe('released')
  })
})

describe('two primaries', () => {
  const redis = useMovingPrimary()

  /** The former primary knows nothing of the new one, and its clients stay. */
  const promote = async (): Promise<void> => {
    const { replica } = redis
    await redis.replication.promote(replica)
    redis.proxy.retarget(replica)
  }

  it.each<[string, string, number, () => unknown]>([
    ['is demoted and keeps its clients: when trust ends', 'expired', LEASE_MS / 2, () => undefined],
    [
      'is demoted and sends its clients away: at the next renewal',
      ...(['gone', 5 * LEASE_MS, () => redis.proxy.cutAll()] as const),
    ],
  ])('the holder of the former one is told once it %s (I1)', async (_when, reason, leaseMs, sendAway) => {
    const locks = await redis.client({ lockWatchdogTimeout: leaseMs, commandTimeout: 200 })
    redis.cutReplication()
    const hold = await locks.getLock(NAME).acquire()
    await promote()
    const others = await redis.client()
    const next = await others.getLock(NAME).acquire()
    // Nobody whom it can ask knows better: no client can notice this.
    await hold.verify()
    expect([belief(hold), belief(next)]).toEqual([BELIEVES, BELIEVES])

    const told = nextLoss(locks)
    await redis.replication.healReplication()
    sendAway()
    expect((await told).event).toMatchObject({ owner: hold.owner, error: { reason } })
    redis.proxy.cutAll()
    expect(await hold.release()).toBe('lost')
    // The former holder finds the new primary now, and releases only its own.
    await locks.close()
    await next.verify()
    expect(await redis.holds(NAME)).toEqual([next.owner, '1'])
    expect(await next.release()).toBe('released')
  })
})

// No renewal is due within the test: who learns something was told by the change itself.
const PATIENT = { lockWatchdogTimeout: 300_000 }

const changesOf = (locks: LockClient): LockEvents['primary-changed'][] => {
  const changes: LockEvents['primary-changed'][] = []
  locks.on('primary-changed', (event) => changes.push(event))
  return changes
}

describe('a primary that is another one than before', () => {
  const moving = useMovingPrimary()

  it.each([
    ['renewed', {}],
    ['of a fixed lease', { leaseMs: 300_000 }],
  ])('a lock that it does not have is lost at once, %s (I1)', async (_, options) => {
    const locks = await moving.client(PATIENT)
    moving.cutReplication()
    const told = nextLoss(locks)
    const hold = await locks.getLock('order:42').acquire(options)
    await moving.failOver()
    expect((await told).event).toMatchObject({ owner: hold.owner, error: { reason: 'gone' } })
    expect(belief(hold)).toEqual(KNOWS_BETTER)
    expect(await hold.release()).toBe('lost')
  })

  it('a lock that it has is kept, whatever kind of lease it has', async () => {
    const locks = await moving.client(PATIENT)
    const changes = changesOf(locks)
    const watched = await locks.getLock('watched').acquire()
    const fixed = await locks.getLock('fixed').acquire({ leaseMs: 300_000 })
    await moving.replication.healReplication()
    await moving.failOver()
    await eventually(() => changes.length > 0)
    expect(changes).toEqual([{ doubted: 2 }])
    await eventually(() => watched.trustedForMs > 0 && fixed.trustedForMs > 0)
    expect([belief(watched), belief(fixed)]).toEqual([BELIEVES, BELIEVES])
    expect([await watched.release(), await fixed.release()]).toEqual(['released', 'released'])
  })

  it('a connection that broke, to the same one, changes nothing', async () => {
    const locks = await moving.client(PATIENT)
    const changes = changesOf(locks)
    const hold = await locks.getLock('order:42').acquire()
    for (let i = 0; i < 3; i += 1) {
      moving.proxy.cutAll()
      await hold.verify()
      expect(belief(hold)).toEqual(BELIEVES)
    }
    expect(changes).toEqual([])
    expect(await hold.release()).toBe('released')
  })
})
