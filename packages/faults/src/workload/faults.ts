import { setTimeout as sleep } from 'node:timers/promises'
import type { LockClient } from '@holdfast/core'
import type { FaultProxy, RedisServer } from '@holdfast/faults/harness'
import type { Fleet, Worker } from '../run/fleet.js'
import type { History } from '../run/history-file.js'
import type { SeededRandom } from '../harness/seeded-random.js'
import { nowMs } from '../run/shared-clock.js'
import { someKey, vanish, type VanishingKey } from './vanishing.js'
import { forceUnlock } from './lock-kinds.js'
import { restoreCounters } from './register.js'

const LATEST_COPY_MS = 5_000
const LONGEST_AIM_MS = 500
const isScript = (bytes: Buffer): boolean => bytes.includes('evalsha')

/** The targets of faults. */
export interface Victim {
  readonly redis: RedisServer
  readonly register: RedisServer
  readonly fleet: Fleet
  /** The names that are in use at the moment. */
  readonly locks: () => readonly string[]
  readonly leaseMs: number
  readonly random: SeededRandom
  readonly history: History
  /** A client that no fault of a wire reaches. */
  readonly observer: LockClient
  /** Lets another process take the place of one that was killed. */
  readonly replace: (worker: Worker) => Promise<void>
  /** Makes the wire of a process again what it is in this run. */
  readonly heal: (worker: Worker) => void
  /** Until when a late copy may arrive, and until when one that met no tombstone may do harm. */
  readonly copies: { untilMs: number; harmlessAtMs: number; losses: number }
}

interface Aim {
  readonly workers: readonly Worker[]
  readonly lock?: string | undefined
  /** Where it depends on what it hits. */
  readonly class?: 'data-loss' | 'lock-loss' | 'disturbance' | undefined
  readonly key?: VanishingKey | undefined
}

interface Fault {
  /** Locks are gone by a loss, so two owners may overlap until the first has been told. Default: a disturbance. */
  readonly class?: 'data-loss' | 'lock-loss'
  /** Which processes or lock it concerns, before it happens. */
  aim(victim: Victim): Aim | Promise<Aim>
  happen(victim: Victim, aim: Aim): unknown
}

/** Harm to the wires of some processes, until they are healed. */
const onWires = (harm: (proxy: FaultProxy, random: SeededRandom) => unknown): Fault => ({
  aim: ({ fleet, random }) => ({
    workers: random.chance(0.3) ? fleet.workers : [random.pick(fleet.workers)],
  }),
  happen: async ({ random, heal }, { workers }) => {
    for (const { proxy } of workers) if (proxy) harm(proxy, random)
    await sleep(random.between(50, 1_500))
    workers.forEach(heal)
  },
})

/** Harm to one process. */
const onProcess = (harm: (worker: Worker, victim: Victim) => unknown): Fault => ({
  aim: ({ fleet, random }) => ({ workers: [random.pick(fleet.workers)] }),
  happen: (victim, { workers: [worker] }) => worker && harm(worker, victim),
})

const onRedis = (happen: (victim: Victim) => unknown): Fault => ({ aim: () => ({ workers: [] }), happen })

const FAULTS = {
  'lose-reply': onWires((proxy, random) => proxy.loseReply(isScript, 1 + random.whole(5))),
  'late-copy': onWires((proxy, random) => {
    const times = 1 + random.whole(5)
    // A copy that cannot be delivered because Redis is down is no finding.
    proxy.copyLate(isScript, random.between(5, LATEST_COPY_MS), times).happened.catch(() => undefined)
    // A command that is on its way twice was on a connection that broke; one connection delivers nothing twice.
    proxy.loseReply(isScript, times)
  }),
  cut: onWires((proxy) => proxy.cutAll()),
  refuse: onWires((proxy) => proxy.refuse()),
  'black-hole': onWires((proxy) => proxy.blackHole()),
  delay: onWires((proxy, random) => proxy.delay(random.between(1, 180))),
  'drop-pushes': onWires((proxy, random) => proxy.dropPushes(2 + random.whole(9))),
  'kill-subscribers': onRedis(async ({ redis, random }) => {
    for (let i = 0; i < 8; i += 1) {
      await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
      await sleep(random.between(20, 150))
    }
  }),
  'script-flush': onRedis(async ({ redis, random }) => {
    for (let i = 0; i < 20; i += 1) {
      await redis.command('SCRIPT', 'FLUSH')
      await sleep(random.between(1, 50))
    }
  }),
  'out-of-memory': onRedis(async ({ redis, random }) => {
    await redis.command('CONFIG', 'SET', 'maxmemory', '1')
    await sleep(random.between(50, 1_000))
    await redis.command('CONFIG', 'SET', 'maxmemory', '0')
  }),
  'client-pause': onRedis(async ({ redis, random }) => {
    const ms = Math.round(random.between(50, 1_500))
    await redis.command('CLIENT', 'PAUSE', ms, random.pick(['ALL', 'WRITE']))
    await sleep(ms)
  }),
  'redis-stands-still': onRedis(async ({ redis, random }) => {
    await redis.pause()
    await sleep(random.between(50, 3_000))
    redis.resume()
  }),
  'redis-restarts': onRedis(({ redis }) => redis.restart()),
  'redis-restarts-empty': {
    ...onRedis(async ({ redis, register, locks, random }) => {
      await redis.kill()
      await sleep(random.between(0, 500))
      await redis.restart({ empty: true })
      await restoreCounters(redis, register, locks())
    }),
    class: 'data-loss',
  },
  'force-unlock': {
    class: 'lock-loss',
    aim: ({ random, locks }) => ({ workers: [], lock: random.pick(locks()) }),
    happen: ({ observer }, { lock }) => lock && forceUnlock(observer, lock),
  },
  'key-vanishes': {
    aim: async ({ redis, random }) => {
      const key = await someKey(redis, random)
      return { workers: [], lock: key?.lock, class: key?.class, key }
    },
    happen: async ({ redis, register, random }, { key }) => {
      if (!key) return
      await vanish(redis, random, key.key)
      if (key.class === 'data-loss') await restoreCounters(redis, register, [key.lock])
    },
  },
  'process-stands-still': onProcess(async ({ process }, { random, leaseMs }) => {
    await process.pause()
    await sleep(random.between(0.1, 3) * leaseMs)
    process.resume()
  }),
  'event-loop-blocked': onProcess(({ process }, { random, leaseMs }) =>
    process.call('block', random.between(0.1, 3) * leaseMs),
  ),
  'process-killed': onProcess((worker, { replace }) => replace(worker)),
  // At the one moment at which something is sure to be under way: a command was sent, and nobody will ever answer.
  'killed-at-a-command': onProcess(async (worker, { random, replace }) => {
    const { proxy } = worker
    const harm = random.chance(0.5) ? proxy?.loseReply(isScript) : proxy?.loseRequest(isScript)
    await Promise.race([harm?.happened.catch(() => undefined), sleep(LONGEST_AIM_MS)])
    await replace(worker)
  }),
} satisfies Record<string, Fault>

export type FaultName = keyof typeof FAULTS

export const EVERY_FAULT = Object.keys(FAULTS) as FaultName[]

/** All but the one that takes tombstones away, too: late copies would find none. */
export const FAULT_NAMES: FaultName[] = EVERY_FAULT.filter((name) => name !== 'key-vanishes')

/**
 * A loss of data takes the tombstones along. A copy that is still on its way may then take a lock for an owner that has
 * gone, or put it in the queue, until a lease has ended: no wait proves anything meanwhile.
 */
const noteCopiesWithoutTombstone = ({ history, copies, leaseMs }: Victim): void => {
  if (copies.untilMs <= nowMs()) return
  copies.harmlessAtMs = copies.untilMs + leaseMs
  const name = `copies-without-tombstone-${(copies.losses += 1)}`
  history.add('fault', { name, class: 'disturbance' })
  history.add('healed', { name, atMs: copies.harmlessAtMs })
}

/** Lets one fault happen and heal, and writes both down. */
export const happen = async (name: FaultName, victim: Victim): Promise<void> => {
  const fault: Fault = FAULTS[name]
  const aim = await fault.aim(victim)
  const { workers, lock, key } = aim
  const kind = aim.class ?? fault.class ?? 'disturbance'
  const target = workers.length === 1 ? workers[0]?.name : undefined
  victim.history.add('fault', { name, class: kind, lock, target, part: key?.part })
  await fault.happen(victim, aim)
  victim.history.add('healed', { name, lock })
  if (name === 'late-copy') victim.copies.untilMs = nowMs() + LATEST_COPY_MS
  if (fault.class === 'data-loss') noteCopiesWithoutTombstone(victim)
}
