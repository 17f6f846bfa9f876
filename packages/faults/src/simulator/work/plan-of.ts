import type { Mode } from '@holdfast/faults/harness'
import type { SeededRandom } from '../../run/random.js'
import { kindOf, LOCK_KINDS, lockNames, type LockKind } from '../../workload/lock-kinds.js'
import { chanceOf } from '../world/chance.js'
import {
  FAULT_NAMES,
  type FaultName,
  type FaultPlan,
  type Plan,
  type Settings,
  type Step,
  type Task,
  type Way,
} from './plan.js'

const READERS = 0.7
const LONG_WORK_WORLDS = 0.3
const LONG_WORK = 0.15
const SHORT_WORK_MS = 25
const LONGEST_WORK_MS = 4_000
const LONGEST_WAIT_MS = 2_500
const LEASES_MS = [600, 1_500, 3_000, 30_000] as const
const RESYNCS_MS = [300, 1_000, 20_000] as const

const SYNCHRONIZERS = ['semaphore', 'permits', 'latch'] as const

export const KINDS = [...LOCK_KINDS, ...SYNCHRONIZERS] as const

export type Kind = LockKind | (typeof SYNCHRONIZERS)[number]

export interface Scope {
  readonly kinds: readonly Kind[]
  readonly faults: readonly FaultName[]
}

export const EVERYTHING: Scope = { kinds: KINDS, faults: FAULT_NAMES }

// ioredis's own, what is advised for queues, and what users set who want errors early.
const RETRIES = [20, 20, null, 1, 0] as const

const settingsFrom = (chance: SeededRandom, ofClient: SeededRandom): Settings => {
  const pushedGrants = chance.chance(0.7)
  const leaseMs = chance.pick(LEASES_MS)
  return {
    leaseMs,
    resyncMs: chance.pick(RESYNCS_MS),
    interop: pushedGrants && chance.chance(0.3) ? 'none' : 'redisson',
    pushedGrants,
    localPassing: chance.chance(0.7),
    localReentry: chance.chance(0.25),
    slowestMs: chance.pick([1, 1, 5, 40, 150]),
    maxRetriesPerRequest: ofClient.pick(RETRIES),
    longestWorkMs: chance.chance(LONG_WORK_WORLDS) ? Math.min(2 * leaseMs, LONGEST_WORK_MS) : 0,
  }
}

const waysOf = (mode: Mode | undefined): readonly Way[] => {
  const ways: readonly Way[] = ['callback', 'hold', 'once', 'impatient', 'reentrant']
  return mode === 'exclusive' ? [...ways, 'downgrade', 'downgrade'] : ways
}

const tasksFrom = (
  chance: SeededRandom,
  { leaseMs, longestWorkMs }: { readonly leaseMs?: number | undefined; readonly longestWorkMs: number },
): Task[] => {
  const isLong = longestWorkMs > 0 && chance.chance(LONG_WORK)
  return Array.from({ length: chance.whole(4) + (isLong ? 1 : 0) }, () => {
    const isCareless = chance.chance(0.2)
    const asks = chance.chance(0.8) ? 'nothing' : chance.pick(['verify', 'extend'] as const)
    const usualMs = isCareless && leaseMs !== undefined ? 2 * leaseMs : SHORT_WORK_MS
    return { ms: chance.between(0, isLong ? longestWorkMs : usualMs), asks, isCareless }
  })
}

const stepFrom = (
  chance: SeededRandom,
  { id, locks, settings }: { id: string; locks: readonly string[]; settings: Settings },
): Step => {
  const lock = chance.pick(locks)
  const isReadWrite = kindOf(lock) === 'read-write'
  const mode: Mode | undefined = isReadWrite ? (chance.chance(READERS) ? 'shared' : 'exclusive') : undefined
  const way = chance.pick(waysOf(mode))
  const isLeased = way === 'hold' && chance.chance(0.3)
  const leaseMs = Math.round(chance.between(300, settings.leaseMs))
  return {
    ...{ id, lock, way, pauseMs: chance.between(0, 30) },
    ...(mode && { mode }),
    ...(isLeased && { leaseMs }),
    waitMs: Math.round(chance.between(100, LONGEST_WAIT_MS)),
    abortMs: chance.between(0, 200),
    tasks: tasksFrom(chance, { ...(isLeased && { leaseMs }), longestWorkMs: settings.longestWorkMs }),
  }
}

const nameOf = (process: number): string => `p${process}`

const MOST_KINDS_OF_FAULTS = 5
const MOST_FAULTS = 30

/** Each world has a few kinds of faults, now and then: with all of them at once everything would have an excuse. */
const faultsFrom = (
  chance: SeededRandom,
  { names, processes, locks }: { names: readonly FaultName[]; processes: number; locks: readonly string[] },
): FaultPlan[] => {
  if (names.length === 0 || chance.chance(0.2)) return []
  const few = Array.from({ length: 1 + chance.whole(MOST_KINDS_OF_FAULTS) }, () => chance.pick(names))
  const [pauseMs, longestMs] = [chance.pick([200, 1_000, 3_000]), chance.pick([50, 500, 2_000])]
  let atMs = 0
  return Array.from({ length: MOST_FAULTS }, (_, i) => {
    atMs += chance.between(0, 2 * pauseMs)
    return {
      ...{ id: `f${i}`, name: chance.pick(few), atMs, lastsMs: chance.between(5, longestMs) },
      ...{ process: nameOf(chance.whole(processes)), isWide: chance.chance(0.3), lock: chance.pick(locks) },
    }
  })
}

/** What takes permits or counts away without a trace: nobody can say then how many there should be. */
const HARMFUL_TO_COUNTS: ReadonlySet<FaultName> = new Set([
  'server-restarts-empty',
  'fail-over',
  'clock-forward',
  'clock-back',
  'key-vanishes',
  'force-unlock',
])

const synchronizerStep = (
  chance: SeededRandom,
  { id, name, settings }: { id: string; name: string; settings: Settings },
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
    ...{ id, lock: name, way: ways[kind as keyof typeof ways], pauseMs: chance.between(0, 60) },
    ...(isLeased && { leaseMs }),
    ...{
      waitMs: Math.round(chance.between(100, LONGEST_WAIT_MS)),
      permits: kind === 'semaphore' ? 1 + chance.whole(2) : 1,
    },
    ...{
      abortMs: chance.chance(0.3) ? chance.between(1, 200) : 0,
      tasks: tasksFrom(chance, { longestWorkMs: settings.longestWorkMs }),
    },
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
export const planOf = (seed: number, { kinds, faults }: Scope = EVERYTHING): Plan => {
  const chance = chanceOf(seed, 'plan')
  const settings = settingsFrom(chance, chanceOf(seed, 'client'))
  const { names: locks, areLocks } = namesFrom(chance, kinds)
  const [processes, callers, steps] = [1 + chance.whole(4), 1 + chance.whole(6), 8 + chance.whole(40)]
  return {
    ...{ seed, settings, locks },
    processes: Array.from({ length: processes }, (_, p) => ({
      name: nameOf(p),
      callers: Array.from({ length: callers }, (_, c) => {
        const own = chanceOf(seed, `p${p}.${c}`)
        return Array.from({ length: steps }, (_, s) =>
          areLocks
            ? stepFrom(own, { id: `${p}.${c}.${s}`, locks, settings })
            : synchronizerStep(own, {
                id: `${p}.${c}.${s}`,
                name: own.pick(locks),
                settings,
              }),
        )
      }),
    })),
    faults: faultsFrom(chanceOf(seed, 'faults'), {
      names: areLocks ? faults : faults.filter((name) => !HARMFUL_TO_COUNTS.has(name)),
      ...{ processes, locks },
    }),
  }
}
