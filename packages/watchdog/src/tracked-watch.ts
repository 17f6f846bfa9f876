import type { WatchdogClock } from './clock.js'
import type { HeapEntry } from './deadline-heap.js'
import { requireDuration, type Grant } from './grant.js'
import type { LossReason, RenewableLease } from './renewable-lease.js'
import type { Schedule } from './schedule.js'
import { renewalIntervalMs, resumeRenewalAt, trustedUntil } from './trusted-until.js'
import type { Watch } from './watch.js'

/** The watchdog, as a watch needs it. */
export interface Keeper<L extends RenewableLease> {
  readonly clock: WatchdogClock
  readonly schedule: Schedule<TrackedWatch<L>>
  /** Compares the clocks; true if they jumped, in which case every live watch is already suspect. */
  look(): boolean
  /** Asks the store about a suspect watch. */
  verify(watch: TrackedWatch<L>): void
  /** Runs a callback of the user; its exceptions must reach no other watch. */
  guard(callback: () => void): void
}

/** Until when the lease is trusted, and why. Times are monotonic ms. */
interface Trust {
  readonly until: number
  /** When the request was sent on whose reply it is based. */
  readonly provenAt: number
  readonly leaseMs: number
  readonly intervalMs: number
  /** It ends by then, whatever the store says is left: a shorter lease was asked for. */
  readonly endsBy: number
  /** Requests sent before this time prove nothing any more. */
  readonly provenFrom: number
  /** Whether it is none until the store has replied. */
  readonly isSuspect: boolean
}

interface NextRenewal {
  /** Monotonic ms. */
  readonly at: number
  /** While false, `at` is the last moment; half an interval before it, it is decided whether to renew earlier. */
  readonly isPlanned: boolean
  /** How much earlier than necessary it is: repeated once, so that half an interval becomes a whole one. */
  readonly earlyMs: number
}

export class TrackedWatch<L extends RenewableLease> implements Watch, HeapEntry {
  deadline: number
  heapIndex = -1
  private trust: Trust
  /** Null: it is not renewed. */
  private next: NextRenewal | null
  private readonly renewUntil: number
  /** The current round: replies to earlier rounds, or after the watch has ended, do not match. */
  private round: object | undefined

  /** @param ordinal increases from watch to watch */
  constructor(
    private readonly keeper: Keeper<L>,
    readonly lease: L,
    { sentAt, ttlMs, renew, renewForMs = Infinity }: Grant,
    readonly ordinal: number,
  ) {
    this.trust = this.trustOf(sentAt, ttlMs)
    this.next = renew ? { at: sentAt + this.intervalMs, isPlanned: false, earlyMs: 0 } : null
    this.renewUntil = sentAt + renewForMs
    this.deadline = this.nextEventAt()
  }

  get provenAt(): number {
    return this.trust.provenAt
  }

  get leaseMs(): number {
    return this.trust.leaseMs
  }

  get intervalMs(): number {
    return this.trust.intervalMs
  }

  /** It has left the schedule. */
  private get ended(): boolean {
    return this.heapIndex === -1
  }

  get trustedForMs(): number {
    if (this.ended) {
      return 0
    }
    this.keeper.look()
    return this.trustAt(this.keeper.clock.now())
  }

  trustAt(now: number): number {
    return this.ended || this.trust.isSuspect ? 0 : Math.max(0, this.trust.until - now)
  }

  get renewing(): boolean {
    return this.renewingAt(this.keeper.clock.now())
  }

  renewingAt(now: number): boolean {
    return !this.ended && this.renewsAt(now)
  }

  get suspect(): boolean {
    return this.trust.isSuspect
  }

  setRenewing(on: boolean): void {
    if (this.ended || on === (this.next !== null)) {
      return
    }
    this.next = on ? this.resumed() : null
    this.reschedule()
  }

  confirm(sentAt: number, ttlMs: number): void {
    requireDuration('ttlMs', ttlMs)
    if (!this.admits(sentAt)) {
      return
    }
    const { trust, next } = this
    const { isSuspect, provenFrom } = trust
    const confirmed = this.trustOf(sentAt, ttlMs)
    const provenAt = Math.max(trust.provenAt, sentAt)
    // For a suspect watch, trust from before the jump is void: the new reply counts even if it ends earlier.
    const grows = isSuspect || confirmed.until > trust.until
    this.trust = { ...(grows ? confirmed : trust), provenAt, endsBy: Infinity, provenFrom, isSuspect: false }
    if (next) {
      // Also without more trust: a renewed lease that stayed due would be renewed again at once, for ever.
      const { intervalMs } = confirmed
      const earlyMs = Math.min(next.earlyMs, intervalMs / 2)
      const at = sentAt + intervalMs - earlyMs
      this.next = { at: isSuspect ? at : Math.max(next.at, at), isPlanned: earlyMs > 0, earlyMs: 0 }
    }
    this.reschedule()
  }

  correct(sentAt: number, remainingMs: number, { mayGrow = true } = {}): void {
    requireDuration('remainingMs', remainingMs)
    if (!this.admits(sentAt)) {
      return
    }
    const { trust } = this
    const left = Math.min(trustedUntil(sentAt, remainingMs), trust.endsBy)
    const until = mayGrow || trust.isSuspect ? left : Math.min(left, trust.until)
    this.trust = { ...trust, until, provenAt: Math.max(trust.provenAt, sentAt), isSuspect: false }
    if (this.trustOverAt(this.keeper.clock.now())) {
      // At once: the code that asked continues with the result before any timer fires.
      this.lose('expired')
      return
    }
    this.next &&= this.resumed()
    this.reschedule()
  }

  shorten(sentAt: number, ttlMs: number): void {
    requireDuration('ttlMs', ttlMs)
    if (this.ended) {
      return
    }
    this.next = null
    const { trust } = this
    const { isSuspect } = trust
    // A renewal in flight says how long the lease was before. While suspect, its reply only asks the store again.
    const provenFrom = Math.max(trust.provenFrom, sentAt)
    if (!isSuspect) {
      this.round = undefined
    }
    const shortened = this.trustOf(sentAt, ttlMs)
    const endsBy = Math.min(trust.endsBy, shortened.until)
    this.trust = { ...(shortened.until < trust.until ? shortened : trust), endsBy, provenFrom, isSuspect }
    this.reschedule()
  }

  doubt(): void {
    if (this.ended) {
      return
    }
    const now = this.keeper.clock.now()
    if (this.trust.isSuspect) {
      // The reply in flight may be older than this doubt: it proves nothing, and the store is asked again after it.
      this.suspectSince(now)
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
    this.round = undefined
    this.keeper.schedule.remove(this)
  }

  trustOverAt(now: number): boolean {
    return now >= this.trust.until
  }

  renewsAt(now: number): boolean {
    return this.next !== null && now < this.renewUntil
  }

  /** Whether a renewal is planned for `time` or before, and none is in progress. */
  renewalDueBy(time: number): boolean {
    return this.round === undefined && !this.ended && this.plannedRenewal() <= time
  }

  /** The last moment of the next renewal, monotonic ms. */
  get renewAt(): number {
    return this.next?.at ?? Infinity
  }

  /** Whether the next renewal must be planned by `time`. */
  planDueBy(time: number): boolean {
    return this.round === undefined && !this.ended && !this.next?.isPlanned && this.planAt() <= time
  }

  /**
   * Sets the next renewal to `at`, which is no later than `renewAt`, and the one after it `earlyMs` early as well.
   */
  plan(at: number, earlyMs: number): void {
    this.next = { at, isPlanned: true, earlyMs }
    this.reschedule()
  }

  /** Voids everything known from before `since`, and all replies still in flight. */
  becomeSuspect(since: number): void {
    this.suspectSince(since)
    this.round = undefined
    this.reschedule()
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
      this.next = null
    }
    if (this.trust.isSuspect) {
      this.keeper.verify(this)
    } else {
      this.reschedule()
    }
  }

  /** Whether a reply to a request sent at that time still describes the present. */
  private admits(sentAt: number): boolean {
    return !this.ended && !this.keeper.look() && sentAt >= this.trust.provenFrom
  }

  private trustOf(sentAt: number, ttlMs: number): Trust {
    // A lease granted for less than a renewal sets must be renewed before that shorter time is over.
    const intervalMs = renewalIntervalMs(Math.min(ttlMs, this.lease.ttlMs))
    const until = trustedUntil(sentAt, ttlMs)
    return {
      until,
      provenAt: sentAt,
      leaseMs: ttlMs,
      intervalMs,
      endsBy: Infinity,
      provenFrom: -Infinity,
      isSuspect: false,
    }
  }

  private suspectSince(since: number): void {
    const { trust } = this
    // A doubt may arrive after a later clock jump.
    this.trust = { ...trust, isSuspect: true, provenFrom: Math.max(trust.provenFrom, since) }
  }

  private resumed(): NextRenewal {
    const { until, intervalMs } = this.trust
    return { at: resumeRenewalAt(this.keeper.clock.now(), until, intervalMs), isPlanned: false, earlyMs: 0 }
  }

  private plannedRenewal(): number {
    return this.renewAt < this.renewUntil ? this.renewAt : Infinity
  }

  private planAt(): number {
    return this.plannedRenewal() - this.intervalMs / 2
  }

  private nextEventAt(): number {
    const { until } = this.trust
    if (this.round !== undefined) {
      return until
    }
    return Math.min(until, this.next?.isPlanned ? this.plannedRenewal() : this.planAt())
  }

  private reschedule(): void {
    if (!this.ended) {
      this.keeper.schedule.move(this, this.nextEventAt())
    }
  }
}
