import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { RedisSentinels } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import type { Hold, LockClient, LockClientOptions, LockEvents } from '../../../src/index.js'
import { everyLockKind } from '../support/lock-kinds.js'
import { belief, BELIEVES, nextLoss } from '../support/outcomes.js'
import { useOpened } from '../support/opened.js'
import { eventually, soon } from '../support/rig.js'

const NAMES = ['a', 'b', 'c', 'd', 'e']
const DOUBTS = { trusted: false, ensured: false, aborted: false }
const FAIL_OVERS = 2
const SWITCH_MS = 20_000
const PAUSE_MS = 20_000

/** Does what ioredis's failoverDetector does when a sentinel says `+switch-master`. */
const switchAway = (redis: Redis): void =>
  (redis as unknown as { connector: { disconnect(): void } }).connector.disconnect()

describe('the primary that Sentinel names becomes another one', () => {
  let group: RedisSentinels
  const opened = useOpened()

  beforeAll(async () => {
    group = await RedisSentinels.start({ replicas: 2, downAfterMs: 5_000 })
  })
  afterAll(() => group.stop())

  const connection = (options: object = {}): Redis => {
    const retries = { sentinelRetryStrategy: () => 50, retryStrategy: () => 20, failoverDetector: true }
    const { endpoints, name } = group
    return opened.connection(new Redis({ sentinels: endpoints, name, ...retries, ...options }))
  }
  const open = (redis = connection(), options: LockClientOptions = {}): Promise<LockClient> =>
    opened.client(redis, { unavailableTimeoutMs: 30_000, ...options })
  const beliefAt = (redis: Redis, event: string, hold: Hold): Promise<unknown> =>
    soon(new Promise((resolve) => redis.once(event, () => resolve(belief(hold)))))

  it('a connection that ends is its first sign: nothing is trusted until Redis has confirmed it (I1)', async () => {
    const redis = connection()
    const locks = await open(redis)
    const losses: unknown[] = []
    locks.on('lost', (event) => losses.push(event))
    const [watched, fixed] = [
      await locks.getLock('a').acquire(),
      await locks.getLock('b').acquire({ leaseMs: 60_000 }),
    ]
    const [ofWatched, ofFixed] = [beliefAt(redis, 'close', watched), beliefAt(redis, 'close', fixed)]
    await (await group.primary()).command('CLIENT', 'KILL', 'TYPE', 'normal')
    expect([await ofWatched, await ofFixed]).toEqual([DOUBTS, DOUBTS])
    await eventually(() => watched.trustedForMs > 0 && fixed.trustedForMs > 0)
    expect([belief(watched), belief(fixed), losses]).toEqual([BELIEVES, BELIEVES, []])
    expect([await watched.release(), await fixed.release()]).toEqual(['released', 'released'])
  })

  // ioredis takes it for a connection that was ended by hand, and ends the client for good.
  it('+switch-master while ioredis asks for the primary: commands and messages go on with the next connection (I4)', async () => {
    const redis = connection()
    const duplicates: Redis[] = []
    let dialled: (made: Redis) => void = () => undefined
    const duplicate = redis.duplicate.bind(redis)
    redis.duplicate = (options) => {
      const made = duplicate(options)
      duplicates.push(made)
      dialled(made)
      return made
    }
    const [locks, other] = [await open(redis, { resyncInterval: 60_000 }), await open()]
    const hold = await other.getLock('c').acquire()
    const waiting = locks.getLock('c').acquire({ waitMs: 20_000 })
    const primary = await group.primary()
    const listeners = async (): Promise<unknown> =>
      ((await primary.command('PUBSUB', 'NUMSUB', 'redisson_lock__channel:{c}')) as unknown[])[1]
    await eventually(async () => (await listeners()) === 1)
    const endOf = (each: Redis): Promise<unknown> => new Promise((resolve) => each.once('end', resolve))
    const asks = new Promise((resolve) => redis.once('connecting', resolve))
    const ended = endOf(redis)
    redis.disconnect(true)
    await asks
    switchAway(redis)
    await ended
    // That for messages is followed by another, which asks for the primary by then.
    const next = new Promise<Redis>((resolve) => (dialled = resolve))
    duplicates.at(-1)!.disconnect()
    const asking = await next
    const over = endOf(asking)
    switchAway(asking)
    await over
    await hold.release()
    await (await waiting).release()
  })

  it('a client that is disconnected by hand while it asks for the primary stays ended', async () => {
    const redis = connection()
    const locks = await open(redis)
    const asks = new Promise((resolve) => redis.once('connecting', resolve))
    redis.disconnect(true)
    await asks
    redis.disconnect()
    await expect(locks.getLock('d').acquire()).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' })
    expect(redis.status).toBe('end')
  })

  it('+switch-master while the former primary hangs: nothing is trusted before its connection has ended (I1)', async () => {
    const redis = connection({ disconnectTimeout: 60_000 })
    const locks = await open(redis)
    const hold = await locks.getLock('a').acquire()
    const former = await group.primary()
    await former.pause()
    try {
      expect(belief(hold)).toEqual(BELIEVES)
      switchAway(redis)
      await eventually(() => hold.trustedForMs === 0)
      expect([belief(hold), redis.status]).toEqual([DOUBTS, 'ready'])
    } finally {
      former.resume()
    }
    await eventually(() => hold.trustedForMs > 0)
    expect(await hold.release()).toBe('released')
  })

  it('what the former primary granted after its replicas had left is lost, and its holder is told (I1)', async () => {
    const locks = await open(connection(), { lockWatchdogTimeout: 300_000 })
    await group.settle()
    const told = nextLoss(locks, SWITCH_MS)
    // Begins the fail-over: no replica hears what the primary does from here on.
    await group.cutReplication()
    const hold = await locks.getLock('a').acquire()
    await group.failOver()
    expect((await told).event).toMatchObject({ owner: hold.owner, error: { reason: 'gone' } })
    expect(await hold.release()).toBe('lost')
    await group.healReplication()
  })

  /** Callers of three clients contend, and tell what should not be. */
  const contention = async (options: LockClientOptions) => {
    const clients = await Promise.all([1, 2, 3].map(() => open(connection(), options)))
    const seen = { losses: [] as LockEvents['lost'][], overlaps: [] as string[], tokensBack: [] as string[] }
    const latest = new Map<string, bigint>()
    const holders = new Map<string, Set<Hold>>(NAMES.map((name) => [name, new Set()]))
    let [isOver, grants] = [false, 0]
    clients.forEach((locks) => locks.on('lost', (event) => seen.losses.push(event)))
    const enter = (name: string, hold: Hold): void => {
      grants += 1
      const others = [...holders.get(name)!].filter((other) => other.trustedForMs > 0)
      seen.overlaps.push(...others.map((other) => `${name}: ${other.owner} and ${hold.owner}`))
      const token = BigInt(hold.token!)
      if (token <= (latest.get(name) ?? 0n)) {
        seen.tokensBack.push(`${name}: ${token} after ${latest.get(name)}`)
      }
      latest.set(name, token)
    }
    const flows = clients.flatMap((locks) =>
      NAMES.map(async (name) => {
        while (!isOver) {
          const hold = await locks.getFencedLock(name).acquire()
          enter(name, hold)
          holders.get(name)!.add(hold)
          await new Promise((resolve) => setTimeout(resolve, 5))
          holders.get(name)!.delete(hold)
          await hold.release()
        }
      }),
    )
    return {
      seen,
      /** Each name has been had so many times more. */
      goesOn: async (): Promise<void> => {
        const before = grants
        await eventually(() => grants > before + 100, SWITCH_MS)
      },
      end: async (): Promise<void> => {
        isOver = true
        await Promise.all(flows)
      },
    }
  }

  const ways: [string, LockClientOptions, boolean][] = [
    ['with writes paused first', {}, true],
    // A release that the former primary alone has heard of leaves its lock closed until the lease ends.
    [
      'with acks of all replicas',
      { replicas: { acks: 2, timeoutMs: 1_000 }, lockWatchdogTimeout: 8_000 },
      false,
    ],
  ]
  // The second waits for the leases that are left, and who counts acks is Redis: with one client.
  it.each(everyLockKind ? ways : ways.slice(0, 1))(
    'several planned fail-overs lose nothing %s (I1, I9)',
    async (_, options, pauses) => {
      const load = await contention(options)
      for (let i = 0; i < FAIL_OVERS; i += 1) {
        await load.goesOn()
        await group.settle()
        const former = await group.primary()
        if (pauses) {
          await former.command('CLIENT', 'PAUSE', PAUSE_MS, 'WRITE')
          await group.healReplication()
        }
        const primary = await group.failOver()
        if (pauses) {
          // Clients that heard late have been sent back to it, and their commands wait there: it refuses them as a replica.
          await former.command('REPLICAOF', primary.host, primary.port)
          await former.command('CLIENT', 'UNPAUSE')
        }
      }
      await load.goesOn()
      await load.end()
      expect(load.seen).toEqual({ losses: [], overlaps: [], tokensBack: [] })
    },
  )
})
