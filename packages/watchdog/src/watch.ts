import type { LossReason } from './renewable-lease.js'

/** One watched lease. Ends by `stop`, by `lose`, or when the watchdog finds it lost; then nothing revives it. */
export interface Watch {
  /** Ms for which the lease may still be used; 0 when it ended, was lost, or is suspect. */
  readonly trustedForMs: number
  /** Whether the store has to speak before anything is trusted again. */
  readonly suspect: boolean
  /**
   * The same for one who has just called `endOverdueTrust`, at the moment that it returned, in that turn: reads no clock.
   */
  trustAt(now: number): number
  /** When the latest request was sent that trust rests on, monotonic ms. Stays when the watch has ended. */
  readonly provenAt: number
  /** How long the lease is that trust rests on, ms. Stays when the watch has ended. */
  readonly leaseMs: number
  /** Whether the watchdog still intends to renew it. */
  readonly renewing: boolean
  /** The same at that moment. */
  renewingAt(now: number): boolean
  /**
   * Off: trust stays as it is, and the answer to an attempt under way still counts. On: the next renewal is
   * planned from now, at once when less than a third of the lease is left; without effect after `renewForMs`.
   */
  setRenewing(on: boolean): void
  /** The store confirmed `ttlMs` for a request sent at `sentAt`: trust may grow, never shrink. RangeError. */
  confirm(sentAt: number, ttlMs: number): void
  /**
   * The store said what it still keeps: trust becomes exactly that, less the margin; ends at once if that is over.
   * Without `mayGrow` (default true) it never grows, unless the watch was suspect. RangeError.
   */
  correct(sentAt: number, remainingMs: number, options?: { readonly mayGrow: boolean }): void
  /**
   * Somebody says that it may be gone. Nothing is trusted until the store has been asked, which happens at once; its
   * answer alone decides. While a question is on its way another one follows it: its answer may be older than this doubt.
   */
  doubt(): void
  /** The owner learnt of the loss by itself: ends the watch and calls `onLost`. */
  lose(reason: LossReason): void
  /** Ended on purpose: no callback ever again, and a late answer of the store is ignored. */
  stop(): void
}
