import type { LockStep, LockWay } from '../../workload/lock-steps.js'
import type { Arrival } from '../world/process.js'

export const FAULT_NAMES = [
  'lose-reply',
  'late-copy',
  'cut',
  'refuse',
  'black-hole',
  'half-break',
  'delay',
  'drop-messages',
  'script-flush',
  'out-of-memory',
  'read-only',
  'server-stands-still',
  'server-restarts',
  'server-restarts-empty',
  'fail-over',
  'clock-forward',
  'clock-back',
  'key-vanishes',
  'force-unlock',
  'forged-message',
  'process-stands-still',
  'process-killed',
  'wall-clock',
] as const

export type FaultName = (typeof FAULT_NAMES)[number]

export type Way = LockWay | 'permits' | 'count-down' | 'await'

/** One call of one caller, all of it decided before the world begins. */
export interface Step extends LockStep {
  readonly way: Way
  readonly pauseMs: number
  /** It begins at this time, whatever was before it; absent: after the one before, and its pause. */
  readonly atMs?: number
  /** Ended in the turn in which something arrives for its process. */
  readonly abortOn?: Arrival
  readonly permits?: number
}

/** The name of the process with that index. */
export const nameOf = (process: number): string => `p${process}`

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
  /** Every second process does not wait for the answers to its releases: `releaseWaitMs: 0`. */
  readonly someReleaseEarly: boolean
  /** A plain lock that every second process has released may stay with it: `lingerMs`. */
  readonly someLinger: boolean
  readonly slowestMs: number
  /** The option of ioredis: with 0 a command in flight fails at once when its connection breaks; null: it is never given up. */
  readonly maxRetriesPerRequest: number | null
  /** Now and then an owner works for as long as this, ms, so that its lease is renewed; 0: never. */
  readonly longestWorkMs: number
}

/** One fault of a world, decided before it begins. */
export interface FaultPlan {
  readonly id: string
  readonly name: FaultName
  readonly atMs: number
  readonly lastsMs: number
  /** A process, or the one that has taken its place. */
  readonly process: string
  /** It concerns all processes. */
  readonly isWide: boolean
  readonly lock: string
}

/** A world as it is to be: all that is done in it. */
export interface Plan {
  readonly seed: number
  readonly settings: Settings
  readonly locks: readonly string[]
  readonly processes: readonly ProcessPlan[]
  readonly faults: readonly FaultPlan[]
}

/** The size of each semaphore. */
export const PERMITS = 3

/** How many steps count a latch down: what it is set to. */
export const countOf = (plan: Plan, latch: string): number =>
  plan.processes
    .flatMap(({ callers }) => callers.flat())
    .filter(({ lock, way }) => way === 'count-down' && lock === latch).length
