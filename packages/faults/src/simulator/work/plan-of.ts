import type { Mode } from '@holdfast/faults/harness'
import type { SeededRandom } from '../../harness/seeded-random.js'
import { kindOf, LOCK_KINDS, lockNames, type LockKind } from '../../workload/lock-kinds.js'
import { READERS, waysOf, type Task } from '../../workload/lock-steps.js'
import { chanceOf } from '../world/chance.js'
import { faultsOf } from './fault-plans.js'
import { FAULT_NAMES, type FaultName, nameOf, type Plan, type Settings, type Step } from './plan.js'

const LONG_WORK_WORLDS = 0.3
const LONG_WORK = 0.15
const LONGEST_WORK_MS = 4_000
const LEASES_MS = [600, 1_500, 3_000, 30_000] as const
const RESYNCS_MS = [300, 1_000, 20_000] as const

const SYNCHRONIZERS = ['semaphore', 'permits', 'latch'] as const

export const KINDS = [...LOCK_KINDS, ...SYNCHRONIZERS] as const

export type Kind = LockKind | (typeof SYNCHRONIZERS)[number]

export interface Scope {
  readonly kinds: readonly Kind[]
  readonly faults: readonly FaultName[]
  /** See `Settings`. Not decided by the seed: those of tests keep the worlds that showed a mistake. */
  readonly someReleaseEarly?: boolean
  readonly someLinger?: boolean
}

export const EVERYTHING: Scope = { kinds: KINDS, faults: FAULT_NAMES }

// ioredis's own, what is advised for queues, and what users set who want errors early.
const RETRIES = [20, 20, null, 1, 0] as const

/**
 * In a sparse world few callers come now and then, and wait for long, and a fault is short and seldom. Where many callers
 * press, each release wakes up those whose message was lost: what forgets to wake one is never seen there.
 */
interface Sparse {
  readonly leaseMs: number
  readonly resyncMs: number
  readonly callers: number
}

/** How a caller goes about its steps. */
interface Pace {
  readonly pauseMs: number
  /** The same between steps of permits and latches. */
  readonly synchronizerPauseMs: number
  readonly workMs: number
  readonly leastWaitMs: number
  readonly longestWaitMs: number
}

const BRISK: Pace = {
  pauseMs: 30,
  synchronizerPauseMs: 60,
  workMs: 25,
  leastWaitMs: 100,
  longestWaitMs: 2_500,
}
const LEISURELY: Pace = {
  ...{ pauseMs: 600, synchronizerPauseMs: 600, workMs: 400 },
  ...{ leastWaitMs: 2_000, longestWaitMs: 8_000 },
}

const SPARSE_WORLDS = 0.25
const SPARSE = { names: 1, processes: 3 } as const

const sparseOf = (seed: number): Sparse | undefined => {
  const chance = chanceOf(seed, 'crowd')
  return chance.chance(SPARSE_WORLDS)
    ? {
        // Long ones: neither the end of a lease nor the resync makes up for a message that was lost.
        leaseMs: chance.pick([600, 3_000, 30_000, 30_000]),
        resyncMs: chance.pick([300, 1_000, 20_000, 20_000]),
        callers: 1 + chance.whole(3),
      }
    : undefined
}

const settingsFrom = (
  chance: SeededRandom,
  ofClient: SeededRandom,
  sparse: Sparse | undefined,
): Omit<Settings, 'someReleaseEarly' | 'someLinger'> => {
  const pushedGrants = chance.chance(0.7)
  const usual = { leaseMs: chance.pick(LEASES_MS), resyncMs: chance.pick(RESYNCS_MS) }
  const { leaseMs, resyncMs } = sparse ?? usual
  return {
    leaseMs,
    resyncMs,
    interop: pushedGrants && chance.chance(0.3) ? 'none' : 'redisson',
    pushedGrants,
    localPassing: chance.chance(0.7),
    localReentry: chance.chance(0.25),
    slowestMs: chance.pick([1, 1, 5, 40, 150]),
    maxRetriesPerRequest: ofClient.pick(RETRIES),
    longestWorkMs: chance.chance(LONG_WORK_WORLDS) ? Math.min(2 * leaseMs, LONGEST_WORK_MS) : 0,
  }
}

const tasksFrom = (
  chance: SeededRandom,
  {
    leaseMs,
    longestWorkMs,
    workMs,
  }: { readonly leaseMs?: number | undefined; readonly longestWorkMs: number; readonly workMs: number },
): Task[] => {
  const isLong = longestWorkMs > 0 && chance.chance(LONG_WORK)
  return Array.from({ length: chance.whole(4) + (isLong ? 1 : 0) }, () => {
    const isCareless = chance.chance(0.2)
    const asks = chance.chance(0.8) ? 'nothing' : chance.pick(['verify', 'extend'] as const)
    const usualMs = isCareless && leaseMs !== undefined ? 2 * leaseMs : workMs
    return { ms: chance.between(0, isLong ? longestWorkMs : usualMs), asks, isCareless }
  })
}

interface StepParts {
  readonly id: string
  readonly locks: readonly string[]
  readonly settings: Settings
  readonly pace: Pace
}

const stepFrom = (chance: SeededRandom, { id, locks, settings, pace }: StepParts): Step => {
  const lock = chance.pick(locks)
  const isReadWrite = kindOf(lock) === 'read-write'
  const mode: Mode | undefined = isReadWrite ? (chance.chance(READERS) ? 'shared' : 'exclusive') : undefined
  const way = chance.pick(waysOf(mode))
  const isLeased = way === 'hold' && chance.chance(0.3)
  const leaseMs = Math.round(chance.between(300, settings.leaseMs))
  return {
    ...{ id, lock, way, pauseMs: chance.between(0, pace.pauseMs) },
    ...(mode && { mode }),
    ...(isLeased && { leaseMs }),
    waitMs: Math.round(chance.between(pace.leastWaitMs, pace.longestWaitMs)),
    abortMs: chance.between(0, 200),
    tasks: tasksFrom(chance, {
      ...(isLeased && { leaseMs }),
      longestWorkMs: settings.longestWorkMs,
      workMs: pace.workMs,
    }),
  }
}

const synchronizerStep = (
  chance: SeededRandom,
  { id, name, settings, pace }: Omit<StepParts, 'locks'> & { name: string },
): Step => {
  const kind = name.split(':')[0]
  const ways = {
    semaphore: 'permits',
    permits: 'permits',
    latch: chance.chance(0.4) ? 'count-down' : 'await',
  } as const
  const isLeased = kind === 'permits' && chance.chance(0.5)
  const leaseMs = Math.round(chance.between(300, settings.leaseMs))
  return {
    id,
    lock: name,
    way: ways[kind as keyof typeof ways],
    pauseMs: chance.between(0, pace.synchronizerPauseMs),
    ...(isLeased && { leaseMs }),
    waitMs: Math.round(chance.between(pace.leastWaitMs, pace.longestWaitMs)),
    permits: kind === 'semaphore' ? 1 + chance.whole(2) : 1,
    abortMs: chance.chance(0.3) ? chance.between(1, 200) : 0,
    tasks: tasksFrom(chance, { longestWorkMs: settings.longestWorkMs, workMs: pace.workMs }),
  }
}

const PROMPT_WORLDS = 0.3
const PROMPT = 0.7
const MOST_ARRIVALS = 5

/** In some worlds calls are ended in the very turn in which something arrives: a grant, a message, an answer. */
const endingsOf = (seed: number): ((step: Step) => Step) => {
  const chance = chanceOf(seed, 'prompt')
  if (!chance.chance(PROMPT_WORLDS)) return (step) => step
  return (step) => {
    const hasSignal = step.way === 'impatient' || (step.way === 'permits' && step.abortMs > 0)
    if (!hasSignal || !chance.chance(PROMPT)) return step
    const side = chance.pick(['before', 'after'] as const)
    return { ...step, abortOn: { count: 1 + chance.whole(MOST_ARRIVALS), side } }
  }
}

const SYNCHRONIZER_WORLDS = 0.2

/** The names of a world: locks, or what is no lock. */
const namesFrom = (chance: SeededRandom, kinds: readonly Kind[]): { names: string[]; areLocks: boolean } => {
  const count = 1 + chance.whole(5)
  const isOther = chance.chance(SYNCHRONIZER_WORLDS)
  const others = SYNCHRONIZERS.filter((kind) => kinds.includes(kind))
  const locks = LOCK_KINDS.filter((kind) => kinds.includes(kind))
  if (others.length > 0 && (isOther || locks.length === 0)) {
    return { names: Array.from({ length: count }, (_, i) => `${chance.pick(others)}:${i}`), areLocks: false }
  }
  return { names: lockNames(count, shuffled(locks, chance)), areLocks: true }
}

const shuffled = <T>(list: readonly T[], chance: SeededRandom): T[] => {
  const left = [...list]
  return list.map(() => left.splice(chance.whole(left.length), 1)[0] as T)
}

/** All that is done in the world of a seed. */
export const planOf = (
  seed: number,
  { kinds, faults, someReleaseEarly = false, someLinger = false }: Scope = EVERYTHING,
): Plan => {
  const chance = chanceOf(seed, 'plan')
  const sparse = sparseOf(seed)
  const isSparse = sparse !== undefined
  const pace = isSparse ? LEISURELY : BRISK
  const settings = { ...settingsFrom(chance, chanceOf(seed, 'client'), sparse), someReleaseEarly, someLinger }
  const { names, areLocks } = namesFrom(chance, kinds)
  const [most, usual, steps] = [1 + chance.whole(4), 1 + chance.whole(6), 8 + chance.whole(40)]
  const locks = isSparse ? names.slice(0, SPARSE.names) : names
  const [processes, callers] = sparse ? [Math.min(most, SPARSE.processes), sparse.callers] : [most, usual]
  const ended = endingsOf(seed)
  return {
    ...{ seed, settings, locks },
    processes: Array.from({ length: processes }, (_, p) => ({
      name: nameOf(p),
      callers: Array.from({ length: callers }, (_, c) => {
        const own = chanceOf(seed, `p${p}.${c}`)
        return Array.from({ length: steps }, (_, s) => {
          const parts = { id: `${p}.${c}.${s}`, settings, pace }
          return ended(
            areLocks
              ? stepFrom(own, { ...parts, locks })
              : synchronizerStep(own, { ...parts, name: own.pick(locks) }),
          )
        })
      }),
    })),
    faults: faultsOf(seed, { names: faults, areLocks, processes, locks, isSparse }),
  }
}
