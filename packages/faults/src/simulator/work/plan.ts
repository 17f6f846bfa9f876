import type { Mode } from '@holdfast/faults/harness'
import type { SeededRandom } from '../../run/random.js'
import { kindOf, LOCK_KINDS, lockNames, type LockKind } from '../../workload/lock-kinds.js'
import { chanceOf } from '../world/chance.js'

const READERS = 0.7
const LONGEST_WAIT_MS = 2_500
const LEASES_MS = [600, 1_500, 3_000, 30_000] as const
const RESYNCS_MS = [300, 1_000] as const

/** How a caller wants its lock. */
export type Way = 'callback' | 'hold' | 'once' | 'impatient' | 'reentrant' | 'downgrade'

/** What an owner does for some ms before it goes on. */
export interface Task {
  readonly ms: number
  readonly asks: 'nothing' | 'verify' | 'extend'
  /** It writes without a look at its lock. */
  readonly isCareless: boolean
}

/** One call of one caller, all of it decided before the world begins. */
export interface Step {
  readonly id: string
  readonly lock: string
  readonly mode?: Mode
  readonly way: Way
  readonly pauseMs: number
  readonly waitMs: number
  /** Not renewed. */
  readonly leaseMs?: number
  readonly abortMs: number
  readonly tasks: readonly Task[]
}

export interface ProcessPlan {
  readonly name: string
  readonly callers: readonly (readonly Step[])[]
}

/** How the clients of a world are set up. */
export interface Settings {
  readonly leaseMs: number
  readonly resyncMs: number
  readonly interop: 'redisson' | 'none'
  readonly pushedGrants: boolean
  readonly localPassing: boolean
  readonly localReentry: boolean
  readonly slowestMs: number
}

/** A world as it is to be: all that is done in it. */
export interface Plan {
  readonly seed: number
  readonly settings: Settings
  readonly locks: readonly string[]
  readonly processes: readonly ProcessPlan[]
}

export interface Scope {
  readonly kinds: readonly LockKind[]
}

const settingsFrom = (chance: SeededRandom): Settings => {
  const pushedGrants = chance.chance(0.85)
  return {
    leaseMs: chance.pick(LEASES_MS),
    resyncMs: chance.pick(RESYNCS_MS),
    interop: pushedGrants && chance.chance(0.3) ? 'none' : 'redisson',
    pushedGrants,
    localPassing: chance.chance(0.85),
    localReentry: chance.chance(0.25),
    slowestMs: chance.pick([1, 1, 5, 40]),
  }
}

const waysOf = (mode: Mode | undefined): readonly Way[] => {
  const ways: readonly Way[] = ['callback', 'hold', 'once', 'impatient', 'reentrant']
  return mode === 'exclusive' ? [...ways, 'downgrade', 'downgrade'] : ways
}

const tasksFrom = (chance: SeededRandom, leaseMs: number | undefined): Task[] =>
  Array.from({ length: chance.whole(4) }, () => {
    const isCareless = chance.chance(0.2)
    const asks = chance.chance(0.8) ? 'nothing' : chance.pick(['verify', 'extend'] as const)
    return { ms: chance.between(0, isCareless && leaseMs !== undefined ? 2 * leaseMs : 25), asks, isCareless }
  })

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
    tasks: tasksFrom(chance, isLeased ? leaseMs : undefined),
  }
}

/** All that is done in the world of a seed. */
export const planOf = (seed: number, { kinds }: Scope = { kinds: LOCK_KINDS }): Plan => {
  const chance = chanceOf(seed, 'plan')
  const settings = settingsFrom(chance)
  const locks = lockNames(
    1 + chance.whole(5),
    [...kinds].sort(() => chance.next() - 0.5),
  )
  const [processes, callers, steps] = [1 + chance.whole(4), 1 + chance.whole(6), 8 + chance.whole(16)]
  return {
    ...{ seed, settings, locks },
    processes: Array.from({ length: processes }, (_, p) => ({
      name: `p${p}`,
      callers: Array.from({ length: callers }, (_, c) => {
        const own = chanceOf(seed, `p${p}.${c}`)
        return Array.from({ length: steps }, (_, s) =>
          stepFrom(own, { id: `${p}.${c}.${s}`, locks, settings }),
        )
      }),
    })),
  }
}
