import type { CallLimits } from './acquire-options.js'
import type { Hold } from '../hold.js'
import type { NoteRequest } from '../scripts/note.js'

/** The limits of a call, as far as a level needs them. */
type LevelLimits = Pick<CallLimits, 'leaseMs' | 'renews' | 'waitMs'> & Partial<Pick<CallLimits, 'maxWaiting'>>

/** How a level is acquired. */
export interface LevelRequest {
  readonly limits: LevelLimits
  /** For `withLock`, which releases it. */
  readonly ofCallback: boolean
  /** See `AcquireTerms`. */
  readonly note?: NoteRequest | undefined
}

/** Whether the lease is renewed as this level wants it, without a word to Redis. */
export function isRenewedFor({ leaseMs, renews }: LevelLimits, levels: Levels, usualMs: number): boolean {
  return renews && (leaseMs ?? usualMs) <= longestRenewal(levels)
}

/** The unreleased holds of one acquisition, in order of acquisition. */
export type Levels = readonly Hold[]

// Three ways to have none.
/** It has not acquired the lock yet. */
export const NOT_YET: Levels = []
/** Its last level was released. */
export const ENDED: Levels = []
/** So it was, and it left the lock to the next caller of this client, or to the end of its bound. */
export const IDLE: Levels = []

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
