import { describe, expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import { eventually, signalled, useRig } from '../../../core/test/redis/support/rig.js'
import Redlock, { ExecutionError, Lock, ResourceLockedError, type Settings } from '../../src/index.js'
import { aborted } from '../../../core/test/redis/support/outcomes.js'

/** The redlocks of a test, each on a connection of its own, as processes have them. */
function useRedlocks() {
  const harness = useRig({ redis: 'all' })
  const redlock = (settings: Partial<Settings> = {}): { redlock: Redlock; redis: Redis } => {
    const redis = harness.connection()
    return { redlock: new Redlock([redis], settings), redis }
  }
  return { harness, redlock }
}

const failed = (promise: Promise<unknown>): Promise<ExecutionError> =>
  promise.then(
    () => Promise.reject(new Error('It did not fail.')),
    (error: unknown) => error as ExecutionError,
  )

describe('Redlock on one Redis', () => {
  const { harness, redlock: make } = useRedlocks()

  it('locks all resources or none (I1)', async () => {
    const [a, b, c] = [harness.name('{x}a'), harness.name('{x}b'), harness.name('{x}c')]
    const { redlock } = make({ retryCount: 0 })
    const lock = await redlock.acquire([a, b], 5_000)
    expect(lock).toBeInstanceOf(Lock)
    expect(await harness.admin.exists(a, b)).toBe(2)
    expect(lock.expiration).toBeLessThanOrEqual(Date.now() + 5_000 - 52)
    expect(lock.expiration).toBeGreaterThan(Date.now() + 3_000)

    const error = await failed(make({ retryCount: 0 }).redlock.acquire([b, c], 5_000))
    expect(error).toBeInstanceOf(ExecutionError)
    expect(error.attempts).toHaveLength(1)
    expect(await harness.admin.exists(c)).toBe(0)
    await lock.release()
    expect(await harness.admin.exists(a, b)).toBe(0)
  })

  it('is not reentrant: callers of one object exclude each other', async () => {
    const { redlock } = make({ retryCount: 0 })
    const lock = await redlock.acquire([harness.name()], 5_000)
    const error = await failed(redlock.acquire([harness.name()], 5_000))
    const [stats] = await Promise.all(error.attempts)
    expect([stats?.membershipSize, stats?.quorumSize, stats?.votesFor.size]).toEqual([1, 1, 0])
    expect([...stats!.votesAgainst.values()]).toEqual([expect.any(ResourceLockedError)])
    await lock.release()
  })

  it('wakes a waiter with the release: it does not poll', async () => {
    const lock = await make().redlock.acquire([harness.name()], 20_000)
    // By polling it would take a minute.
    const other = make({ retryCount: 1, retryDelay: 60_000, retryJitter: 0 })
    const got = other.redlock.acquire([harness.name()], 5_000)
    await eventually(async () => (await harness.admin.pubsub('CHANNELS', `*${harness.name()}*`)).length > 0)
    await lock.release()
    const taken = await got
    expect(taken.attempts).toHaveLength(2)
    await taken.release()
  })

  it('reports as many attempts as there were to be, and an error event for each', async () => {
    const lock = await make().redlock.acquire([harness.name()], 5_000)
    const { redlock } = make({ retryCount: 3, retryDelay: 20, retryJitter: 10 })
    const events: unknown[] = []
    redlock.on('error', (error) => events.push(error))
    const error = await failed(redlock.acquire([harness.name()], 5_000))
    expect(error.attempts).toHaveLength(4)
    expect(events).toHaveLength(4)
    expect(events[0]).toBeInstanceOf(ResourceLockedError)
    await lock.release()
  })

  it('extends with a lock that replaces the first; that one has expired', async () => {
    const { redlock } = make()
    const first = await redlock.acquire([harness.name()], 5_000)
    const second = await first.extend(10_000)
    expect(second.value).toBe(first.value)
    expect(await harness.admin.pttl(harness.name())).toBeGreaterThan(8_000)
    expect(first.expiration).toBe(0)
    const error = await failed(first.extend(10_000))
    expect([error.name, error.attempts]).toEqual(['ExecutionError', []])
    await second.release()
  })

  it('releases what was extended by the first lock or by the one that replaces it, once', async () => {
    const { redlock } = make()
    for (const [used, other] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const first = await redlock.acquire([harness.name()], 5_000)
      const locks = [first, await first.extend(10_000)] as const
      expect(locks[0].holds).toEqual(locks[1].holds)
      await locks[used].release()
      expect(await harness.admin.exists(harness.name())).toBe(0)
      expect(await failed(locks[other].release())).toBeInstanceOf(ExecutionError)
    }
  })

  it('rejects a release and an extension of what is gone, in one attempt', async () => {
    const { redlock } = make()
    for (const use of [(lock: Lock) => lock.extend(5_000), (lock: Lock) => lock.release()]) {
      const lock = await redlock.acquire([harness.name()], 5_000)
      await harness.admin.del(harness.name())
      const error = await failed(use(lock))
      expect(error).toBeInstanceOf(ExecutionError)
      expect(error.attempts).toHaveLength(1)
    }
    const foreign = new Lock(redlock, [harness.name()], 'value', [], Date.now() + 1_000)
    expect(await failed(foreign.release())).toBeInstanceOf(ExecutionError)
    expect(foreign.holds).toEqual([])
  })

  it('waits behind the string of the real redlock, and leaves it as it is', async () => {
    const { redlock } = make({ retryCount: 50, retryDelay: 10, retryJitter: 5 })
    await harness.admin.set(harness.name(), 'theirs', 'PX', 60_000)
    const refused = await failed(redlock.acquire([harness.name()], 1_000, { retryCount: 2 }))
    expect(refused.attempts.length).toBe(3)
    const votes = (await Promise.all(refused.attempts)).flatMap((each) => [...each.votesAgainst.values()])
    expect(votes.every((error) => error instanceof ResourceLockedError)).toBe(true)
    expect(await harness.admin.get(harness.name())).toBe('theirs')
    const got = redlock.acquire([harness.name()], 1_000, { retryCount: 1_000 })
    await harness.admin.del(harness.name())
    await (await got).release()
  })

  it.each([
    ['duration', (redlock: Redlock) => redlock.acquire(['a'], 1.5)],
    ['duration', (redlock: Redlock) => redlock.acquire(['a'], 0)],
    ['resources', (redlock: Redlock) => redlock.acquire([], 1_000)],
    ['resources', (redlock: Redlock) => redlock.acquire([''], 1_000)],
    ['resources', (redlock: Redlock) => redlock.acquire('a' as never, 1_000)],
    ['duration', (redlock: Redlock) => redlock.using(['a'], 550, () => Promise.resolve())],
    ['routine', (redlock: Redlock) => redlock.using(['a'], 5_000, {})],
    ['lock', (redlock: Redlock) => redlock.release(undefined as never)],
    ['lock', (redlock: Redlock) => redlock.extend({} as never, 1_000)],
  ])('refuses at once, and names, a wrong %s', async (argument, call) => {
    await expect(call(make().redlock)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', argument })
  })

  it('refuses to be made without a client, and with scripts', () => {
    const { redis } = make()
    for (const none of [[], undefined, redis])
      expect(() => new Redlock(none as never)).toThrow(/^clients must be/)
    expect(() => new Redlock([redis], {}, { acquireScript: 'return 1' })).toThrow(/^scripts must be/)
    // It can be read only once.
    expect([...new Redlock([redis].values()).clients]).toEqual([redis])
  })

  it('has settings, and defaults for what is no number', () => {
    const { redlock } = make({ retryDelay: 5, retryCount: undefined as never })
    expect(redlock.settings).toEqual({
      driftFactor: 0.01,
      retryCount: 10,
      retryDelay: 5,
      retryJitter: 100,
      automaticExtensionThreshold: 500,
      db: 0,
    })
  })

  it('fails every attempt on a connection that has ended, and lets the process end', async () => {
    const { redlock, redis } = make({ retryCount: 2, retryDelay: 1, retryJitter: 0 })
    await (await redlock.acquire([harness.name()], 5_000)).release()
    await redlock.quit()
    expect(redis.status).toBe('end')
    const error = await failed(redlock.acquire([harness.name()], 5_000))
    const stats = await Promise.all(error.attempts)
    expect(
      stats.flatMap(({ votesAgainst }) => [...votesAgainst.values()].map(({ message }) => message)),
    ).toEqual(Array(3).fill('Connection is closed.'))
  })

  it('leaves a lock to its duration when its connection ends', async () => {
    const { redlock } = make()
    await redlock.acquire([harness.name()], 5_000)
    await redlock.quit()
    expect(await harness.admin.exists(harness.name())).toBe(1)
    await harness.admin.del(harness.name())
  })
})

describe('using', () => {
  const { harness, redlock: make } = useRedlocks()

  it('keeps the lock for longer than its duration, and releases it', async () => {
    const { redlock } = make({ automaticExtensionThreshold: 1_500 })
    const extended = signalled()
    const result = redlock.using([harness.name()], 2_000, async (signal, context) => {
      await eventually(() => context.extensions >= 3)
      extended.resolve()
      expect(context.lock.expiration).toBeGreaterThan(Date.now())
      return [signal.aborted, signal.error]
    })
    await extended.promise
    expect(await result).toEqual([false, undefined])
    expect(await harness.admin.exists(harness.name())).toBe(0)
  })

  it('aborts its signal when the lock is lost, with the reason, and rejects', async () => {
    const { redlock } = make()
    let reason: Error | undefined
    const used = redlock.using([harness.name()], 700, async (signal) => {
      await harness.admin.del(harness.name())
      await aborted(signal)
      reason = signal.error
      expect(signal.reason).toBe(reason)
    })
    expect(await failed(used)).toBeInstanceOf(ExecutionError)
    expect(reason).toBeInstanceOf(Error)
  })

  it('rejects with what the routine throws, and releases the lock', async () => {
    const wrong = new Error('wrong')
    await expect(make().redlock.using([harness.name()], 5_000, () => Promise.reject(wrong))).rejects.toBe(
      wrong,
    )
    expect(await harness.admin.exists(harness.name())).toBe(0)
  })

  it('lets one routine in at a time (I1)', async () => {
    const [inside, most] = [new Set<number>(), [] as number[]]
    const routines = [0, 1, 2, 3].map((id) =>
      make({ retryCount: -1 }).redlock.using([harness.name()], 5_000, async () => {
        inside.add(id)
        most.push(inside.size)
        await harness.admin.ping()
        inside.delete(id)
      }),
    )
    await Promise.all(routines)
    expect(most).toEqual([1, 1, 1, 1])
  })
})
