import type { Hold } from '../hold.js'
import type { NoteRequest } from '../scripts/lock.js'

/** How a level is wanted: without `leaseMs` the watchdog renews. */
export interface LevelRequest {
  readonly leaseMs: number | undefined
  /** 0: it does not wait. */
  readonly waitMs: number | undefined
  /** Taken by `withLock`, which gives it back by itself. */
  readonly ofCallback: boolean
  /** See `AcquireTerms`. */
  readonly note?: NoteRequest | undefined
}

/** The holds of one acquisition that have not been given back, in the order they were taken. */
type Levels = readonly Hold[]

const NO_LEVELS: Levels = []

export function withLevel(levels: Levels, hold: Hold): Levels {
  // Most acquisitions have one: an array that grows makes room for more.
  return levels.length === 0 ? [hold] : [...levels, hold]
}

export function withoutLevel(levels: Levels, hold: Hold): Levels {
  return levels.length === 1 && levels[0] === hold ? NO_LEVELS : levels.filter((each) => each !== hold)
}

/** Whether the watchdog renews because of any of them. */
export function anyWatched(levels: Levels): boolean {
  return levels.some((hold) => hold.watched)
}

/**
 * The one that a plain `unlock()` means: the latest taken by hand, else the latest. One whose release is under way is
 * spoken for: two `unlock()`s at the same time give back two levels.
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
