import type { Hold } from '../hold.js'
import type { NoteRequest } from '../scripts/note.js'

/** The limits of a call, as far as a level needs them. */
interface LevelLimits {
  /** undefined: that of the watchdog. */
  readonly leaseMs: number | undefined
  /** Whether the watchdog renews it. */
  readonly renews: boolean
  /** 0: a single attempt. */
  readonly waitMs: number | undefined
  /** How many may wait already if it has to wait; undefined: any number. */
  readonly maxWaiting?: number | undefined
}

/** How a level is acquired. */
export interface LevelRequest {
  readonly limits: LevelLimits
  /** For `withLock`, which releases it. */
  readonly ofCallback: boolean
  /** See `AcquireTerms`. */
  readonly note?: NoteRequest | undefined
}

/** Whether the lease is renewed as this level wants it, without a word to Redis. */
export function isRenewedFor({ leaseMs, renews }: LevelLimits, renewedMs: number, usualMs: number): boolean {
  return renews && (leaseMs ?? usualMs) <= renewedMs
}

/** The unreleased holds of one acquisition, in order of acquisition. */
type Levels = readonly Hold[]

const NO_LEVELS: Levels = []

export function withLevel(levels: Levels, hold: Hold): Levels {
  // Most acquisitions have one level: a growing array would allocate spare room.
  return levels.length === 0 ? [hold] : [...levels, hold]
}

export function withoutLevel(levels: Levels, hold: Hold): Levels {
  return levels.length === 1 && levels[0] === hold ? NO_LEVELS : levels.filter((each) => each !== hold)
}

/** Whether the watchdog renews because of any of them. */
export function anyWatched(levels: Levels): boolean {
  return levels.some((hold) => hold.renewedMs > 0)
}

/** The lease that a renewal sets: the longest that any of them wants. 0: none is renewed. */
export function longestRenewal(levels: Levels): number {
  return levels.reduce((longest, hold) => Math.max(longest, hold.renewedMs), 0)
}

/**
 * The level a plain `unlock()` releases: the latest acquired by hand, else the latest. One being released does not
 * count: two concurrent `unlock()`s release two levels.
 */
export function latestOf(levels: Levels): Hold | undefined {
  const held = levels.filter((hold) => !hold.wasReleased)
  return held.findLast((hold) => !hold.ofCallback) ?? held.at(-1)
}

/**
 * Whether levels that the callback of a `withLock` acquired by hand and did not release stay with the context, as with a
 * Redisson thread. Not while another withLock is still inside the acquisition: that would let its siblings in. Also while
 * a release awaits its reply or its turn.
 */
export function stayBehind(levels: Levels): boolean {
  return latestOf(levels) !== undefined && !levels.some((hold) => hold.ofCallback && !hold.wasReleased)
}
