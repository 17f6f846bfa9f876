import type { LossReason } from './renewable-lease.js'

/**
 * One watched lease. Ended by `stop`, by `lose`, or when the watchdog detects its loss; an ended watch stays ended.
 */
export interface Watch {
  /** How long the lease may still be used, ms; 0 if it has ended, was lost, or is suspect. */
  readonly trustedForMs: number
  /** Whether the store must confirm the lease before it is trusted again. */
  readonly suspect: boolean
  /**
   * Returns `trustedForMs` to a caller that has just called `endOverdueTrust`, in the same turn, of the time it
   * returned: reads no clock.
   */
  trustAt(now: number): number
  /** When the request was sent on whose reply the trust is based, monotonic ms. Kept when the watch has ended. */
  readonly provenAt: number
  /** The lease on which the trust is based, ms. Kept when the watch has ended. */
  readonly leaseMs: number
  /** Whether the watchdog still intends to renew it. */
  readonly renewing: boolean
  /** Returns `renewing` as of that time. */
  renewingAt(now: number): boolean
  /**
   * Sets whether the watchdog renews the lease. Off: trust is unchanged, and the reply to an attempt in flight
   * still counts. On: the next renewal is planned from now, at once if less than a third of the lease is left; no
   * effect after `renewForMs`.
   */
  setRenewing(on: boolean): void
  /**
   * Tells that the store confirmed `ttlMs` for a request sent at `sentAt`: trust may grow, never shrink.
   * @throws RangeError
   */
  confirm(sentAt: number, ttlMs: number): void
  /**
   * Tells that the store reported the time left: trust becomes exactly that, less the margin; the watch ends at
   * once if that is over. Without `mayGrow` (default true) trust never grows, unless the watch was suspect.
   * @throws RangeError
   */
  correct(sentAt: number, remainingMs: number, options?: { readonly mayGrow: boolean }): void
  /**
   * Tells that a request is about to be sent, at `sentAt`, which makes the lease end `ttlMs` later or before. Ends
   * renewal, and trust by then at the latest, at once: whether the request arrives or not. Replies to requests sent
   * before no longer count, and trust grows again only by `confirm`.
   * @throws RangeError
   */
  shorten(sentAt: number, ttlMs: number): void
  /**
   * Tells that the lease may be gone: nothing is trusted until the store, which is asked at once, has replied; only
   * its reply decides. If a query is in flight already, another follows: its reply may be older than this doubt.
   */
  doubt(): void
  /** Tells that the owner detected the loss itself: ends the watch and calls `onLost`. */
  lose(reason: LossReason): void
  /** Ends the watch on purpose: no callback follows, and late replies of the store are ignored. */
  stop(): void
}
