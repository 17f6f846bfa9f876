import type { WatchdogClock } from './clock.js'
import type { HeapEntry } from './deadline-heap.js'
import { requireDuration, type Grant } from './grant.js'
import type { LossReason, RenewableLease } from './renewable-lease.js'
import { renewalIntervalMs, resumeRenewalAt, trustedUntil } from './trusted-until.js'
import type { Watch } from './watch.js'

/** The watchdog, as a watch needs it. */
export interface Keeper<L extends RenewableLease> {
  readonly clock: WatchdogClock
  /** Compares the clocks; true if they jumped, in which case every live watch is already suspect. */
  look(): boolean
  move(watch: TrackedWatch<L>, deadline: number): void
  ended(watch: TrackedWatch<L>): void
  /** Asks the store about a suspect watch. */
  verify(watch: TrackedWatch<L>): void
  /** Runs a callback of the user; its exceptions must reach no other watch. */
  guard(callback: () => void): void
}

export class TrackedWatch<L extends RenewableLease> implements Watch, HeapEntry {
  readonly lease: L
  /** Increases from watch to watch. */
  readonly ordinal: number
  private readonly keeper: Keeper<L>
  deadline: number
  heapIndex = -1
  intervalMs: number
  private trustedUntil: number
  /** Trust ends by then, whatever the store says is left: a shorter lease was asked for. */
  private endsBy = Infinity
  private isRenewing: boolean
  private nextRenewalAt: number
  /**
   * While false, `nextRenewalAt` is the last moment; half an interval before it, it is decided whether to renew earlier.
   */
  private planned = false
  /**
   * How much earlier than necessary the next renewal is, repeated once, so that half an interval becomes a whole one.
   */
  private repeatMs = 0
  private readonly renewUntil: number
  private isSuspect = false
  /** Requests sent before this time prove nothing any more. */
  private provenFrom = -Infinity
  /** When the latest request was sent on whose reply the trust is based. */
  provenAt: number
  leaseMs: number
  private ttlToAskMs: number
  private ended = false
  /** The current round: replies to earlier rounds, or after the watch has ended, do not match. */
  private round: object | undefined

  constructor(keeper: Keeper<L>, lease: L, grant: Grant, ordinal: number) {
    this.lease = lease
    this.ordinal = ordinal
    this.keeper = keeper
    this.provenAt = grant.sentAt
    this.leaseMs = grant.ttlMs
    this.ttlToAskMs = lease.ttlMs
    this.trustedUntil = trustedUntil(grant.sentAt, grant.ttlMs)
    this.intervalMs = this.intervalFor(grant.ttlMs)
    this.isRenewing = grant.renew
    this.nextRenewalAt = grant.sentAt + this.intervalMs
    this.renewUntil = grant.sentAt + (grant.renewForMs ?? Infinity)
    this.deadline = this.nextEventAt()
  }

  get trustedForMs(): number {
    if (this.ended) {
      return 0
    }
    this.keeper.look()
    return this.trustAt(this.keeper.clock.now())
  }

  trustAt(now: number): number {
    return this.ended || this.isSuspect ? 0 : Math.max(0, this.trustedUntil - now)
  }

  get renewing(): boolean {
    return this.renewingAt(this.keeper.clock.now())
  }

  renewingAt(now: number): boolean {
    return !this.ended && this.renewsAt(now)
  }

  get suspect(): boolean {
    return this.isSuspect
  }

  setRenewing(on: boolean): void {
    if (this.ended || on === this.isRenewing) {
      return
    }
    this.isRenewing = on
    if (on) {
      this.resumeRenewal()
    }
    this.reschedule()
  }

  confirm(sentAt: number, ttlMs: number): void {
    requireDuration('ttlMs', ttlMs)
    if (!this.admits(sentAt)) {
      return
    }
    this.provenAt = Math.max(this.provenAt, sentAt)
    this.endsBy = Infinity
    const until = trustedUntil(sentAt, ttlMs)
    // For a suspect watch, trust from before the jump is void: the new reply counts even if it ends earlier.
    const grows = this.isSuspect || until > this.trustedUntil
    if (grows) {
      this.trustedUntil = until
      this.leaseMs = ttlMs
      this.intervalMs = this.intervalFor(ttlMs)
    }
    // Also without more trust: a renewed lease that stayed due would be renewed again at once, for ever.
    const interval = this.intervalFor(ttlMs)
    const early = Math.min(this.repeatMs, interval / 2)
    this.aimAt(
      this.isSuspect ? sentAt + interval - early : Math.max(this.nextRenewalAt, sentAt + interval - early),
    )
    this.planned = early > 0
    this.isSuspect = false
    this.reschedule()
  }

  correct(sentAt: number, remainingMs: number, { mayGrow = true } = {}): void {
    requireDuration('remainingMs', remainingMs)
    if (!this.admits(sentAt)) {
      return
    }
    this.provenAt = Math.max(this.provenAt, sentAt)
    const until = Math.min(trustedUntil(sentAt, remainingMs), this.endsBy)
    this.trustedUntil = mayGrow || this.isSuspect ? until : Math.min(until, this.trustedUntil)
    this.isSuspect = false
    if (this.trustOverAt(this.keeper.clock.now())) {
      // At once: the code that asked continues with the result before any timer fires.
      this.lose('expired')
      return
    }
    this.resumeRenewal()
    this.reschedule()
  }

  shorten(sentAt: number, ttlMs: number): void {
    requireDuration('ttlMs', ttlMs)
    if (this.ended) {
      return
    }
    this.isRenewing = false
    // A renewal in flight says how long the lease was before. While suspect, its reply only asks the store again.
    this.provenFrom = Math.max(this.provenFrom, sentAt)
    if (!this.isSuspect) {
      this.round = undefined
    }
    const until = trustedUntil(sentAt, ttlMs)
    this.endsBy = Math.min(this.endsBy, until)
    if (until < this.trustedUntil) {
      this.trustedUntil = until
      this.provenAt = sentAt
      this.leaseMs = ttlMs
      this.intervalMs = this.intervalFor(ttlMs)
    }
    this.reschedule()
  }

  doubt(): void {
    if (this.ended) {
      return
    }
    const now = this.keeper.clock.now()
    if (this.isSuspect) {
      // The reply in flight may be older than this doubt: it proves nothing, and the store is asked again after it.
      this.provenFrom = Math.max(this.provenFrom, now)
      return
    }
    this.becomeSuspect(now)
    this.keeper.verify(this)
  }

  lose(reason: LossReason): void {
    if (this.ended) {
      return
    }
    this.stop()
    this.keeper.guard(() => this.lease.onLost(reason))
  }

  stop(): void {
    if (this.ended) {
      return
    }
    this.ended = true
    this.round = undefined
    this.keeper.ended(this)
  }

  trustOverAt(now: number): boolean {
    return now >= this.trustedUntil
  }

  renewsAt(now: number): boolean {
    return this.isRenewing && now < this.renewUntil
  }

  /** Whether a renewal is planned for `time` or before, and none is in progress. */
  renewalDueBy(time: number): boolean {
    return this.round === undefined && !this.ended && this.plannedRenewal() <= time
  }

  /** The last moment of the next renewal, monotonic ms. */
  get renewAt(): number {
    return this.nextRenewalAt
  }

  /** Whether the next renewal must be planned by `time`. */
  planDueBy(time: number): boolean {
    return this.round === undefined && !this.ended && !this.planned && this.planAt() <= time
  }

  /**
   * Sets the next renewal to `at`, which is no later than `renewAt`, and the one after it `earlyMs` early as well.
   */
  plan(at: number, earlyMs: number): void {
    this.aimAt(at)
    this.planned = true
    this.repeatMs = earlyMs
    this.reschedule()
  }

  /** Voids everything known from before `since`, and all replies still in flight. */
  becomeSuspect(since: number): void {
    this.isSuspect = true
    // A doubt may arrive after a later clock jump.
    this.provenFrom = Math.max(this.provenFrom, since)
    this.round = undefined
    this.reschedule()
  }

  /** The lease that the renewal in flight sets: that of the lease may have changed since. */
  get askedTtlMs(): number {
    return this.ttlToAskMs
  }

  noteAsked(): void {
    this.ttlToAskMs = this.lease.ttlMs
  }

  isIn(round: object): boolean {
    return this.round === round
  }

  enter(round: object): void {
    if (this.ended) {
      return
    }
    this.round = round
    this.reschedule()
  }

  leave(round: object): void {
    if (this.round !== round) {
      return
    }
    this.round = undefined
    // Permanently off: a planned renewal that may no longer start would stay due for ever.
    if (!this.renewsAt(this.keeper.clock.now())) {
      this.isRenewing = false
    }
    if (this.isSuspect) {
      this.keeper.verify(this)
    } else {
      this.reschedule()
    }
  }

  /** Whether a reply to a request sent at that time still describes the present. */
  private admits(sentAt: number): boolean {
    return !this.ended && !this.keeper.look() && sentAt >= this.provenFrom
  }

  /** A lease granted for less than a renewal sets must be renewed before that shorter time is over. */
  private intervalFor(ttlMs: number): number {
    return renewalIntervalMs(Math.min(ttlMs, this.lease.ttlMs))
  }

  private resumeRenewal(): void {
    this.aimAt(resumeRenewalAt(this.keeper.clock.now(), this.trustedUntil, this.intervalMs))
  }

  private aimAt(renewAt: number): void {
    this.nextRenewalAt = renewAt
    this.planned = false
    this.repeatMs = 0
  }

  private plannedRenewal(): number {
    return this.isRenewing && this.nextRenewalAt < this.renewUntil ? this.nextRenewalAt : Infinity
  }

  private planAt(): number {
    return this.plannedRenewal() - this.intervalMs / 2
  }

  private nextEventAt(): number {
    if (this.round !== undefined) {
      return this.trustedUntil
    }
    return Math.min(this.trustedUntil, this.planned ? this.plannedRenewal() : this.planAt())
  }

  private reschedule(): void {
    if (!this.ended) {
      this.keeper.move(this, this.nextEventAt())
    }
  }
}
