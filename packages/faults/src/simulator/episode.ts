import type { HistoryEvent } from '@holdfast/faults/harness'
import type { Finding } from './finding.js'
import { verdictOn, type Figures } from './verdict.js'
import { happen } from './work/faults.js'
import type { FaultName, Plan } from './work/plan.js'
import { type Listener, Stage } from './work/stage.js'
import { chanceOf } from './world/chance.js'

// By then every call has ended: the longest wait, the longest fault and the longest lease many times over.
const LONGEST_MS = 600_000
// Until late copies have arrived, reconnects are through, and what they left has been found.
const SETTLE_MS = 8_000
// Both end by themselves; the counters of fenced locks stay on purpose.
const EXPECTED = /^(holdfast:(latch|operations)|redisson_lock_token|\{?(semaphore|permits|latch)):/
// Keys of a lease or a heartbeat end with it, the rest a moment after the last release.
const AFTERWARDS_MS = 5_000

/** One world, from its plan to its verdict. */
export interface Episode {
  readonly plan: Plan
  /** A hash of all that happened. */
  readonly hash: string
  readonly events: readonly HistoryEvent[]
  readonly findings: readonly Finding[]
  readonly figures: Figures
  /** How many faults of each kind there were. */
  readonly faults: ReadonlyMap<FaultName, number>
  /** When each step began. */
  readonly begun: ReadonlyMap<string, number>
}

/** Lets a world happen, closes its clients, and judges what its processes saw. */
export const play = async (plan: Plan, listener?: Listener): Promise<Episode> => {
  const stage = new Stage(plan, listener)
  const { world, journal } = stage
  stage.free.look()
  for (const each of plan.faults) {
    world.at(each.atMs, () => {
      // When all callers are through, nothing is left that a fault could be done to.
      if (!areThrough(stage)) happen(stage, each, chanceOf(plan.seed, each.id))
    })
  }
  const unawaited = (error: unknown): void => stage.broke(error)
  process.on('unhandledRejection', unawaited)
  try {
    if (await world.run(() => stage.isThrough, LONGEST_MS)) await end(stage)
  } finally {
    process.off('unhandledRejection', unawaited)
  }
  return {
    ...{ plan, hash: journal.digest(), events: journal.events, faults: stage.counts },
    begun: stage.begun,
    ...verdictOn({
      plan,
      events: journal.events,
      seen: stage.witness.seen,
      pools: stage.pools,
      orphans: stage.orphans,
      errors: stage.errors,
      lostLevels: stage.lostLevels,
      remains: stage.remains.seen,
      free: stage.free.seen,
    }),
  }
}

const areThrough = ({ living }: Stage): boolean =>
  living.every(({ callers }) => callers.every((each) => each.isThrough))

/** Lets the world go on until this is done. */
const settled = async (stage: Stage, work: Promise<void>): Promise<void> => {
  const { world } = stage
  let isDone = false
  void work
    .catch((error: unknown) => stage.broke(error))
    .finally(() => {
      isDone = true
    })
  if (!(await world.run(() => isDone, world.nowMs + LONGEST_MS))) {
    stage.broke(new Error('What is done after the last caller never ends (I4)'))
  }
}

const end = async (stage: Stage): Promise<void> => {
  const { world, journal, plan } = stage
  await world.run(() => false, world.nowMs + SETTLE_MS)
  stage.lookAtRest()
  await settled(stage, stage.visit())
  stage.free.stop()
  // Those of killed processes come back with their leases.
  await world.run(() => false, world.nowMs + plan.settings.leaseMs)
  await settled(stage, stage.countPermits())
  await settled(stage, stage.close())
  // At once: what is left to fire would have fired by the end.
  for (const { name, timersSet } of stage.clients)
    journal.add(name, 'end', { keys: [], channels: [], timers: timersSet })
  const { leaseMs, resyncMs } = plan.settings
  const longestMs = Math.max(leaseMs, 2 * resyncMs)
  await world.run(() => false, world.nowMs + longestMs + stage.clockBackMs + AFTERWARDS_MS)
  const { engine } = stage.network.primary
  const keys = engine.keyspace.keys().filter((key) => !EXPECTED.test(key))
  journal.add('redis', 'end', { keys, channels: engine.pubSub.heard('global'), timers: 0 })
}
