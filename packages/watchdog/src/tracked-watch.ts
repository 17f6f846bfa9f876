import type { WatchdogClock } from './clock.js'
import type { HeapEntry } from './deadline-heap.js'
import { requireDuration, type Grant } from './grant.js'
import type { LossReason, RenewableLease } from './renewable-lease.js'
import { renewalIntervalMs, resumeRenewalAt, trustedUntil } from './trusted-until.js'
import type { Watch } from './watch.js'

/** What a watch needs from the watchdog that keeps it. */
export interface Keeper<L extends RenewableLease> {
  readonly clock: WatchdogClock
  /** Compares the clocks; true when a jump was found, and then every living watch is suspect already. */
  look(): boolean
  move(watch: TrackedWatch<L>, deadline: number): void
  ended(watch: TrackedWatch<L>): void
  /** Asks the store about a suspect watch. */
  verify(watch: TrackedWatch<L>): void
  /** Runs a callback of the owner; what it throws must reach no other watch. */
  guard(callback: () => void): void
}

export class TrackedWatch<L extends RenewableLease> implements Watch, HeapEntry {
  readonly lease: L
  /** Grows from watch to watch. */
  readonly ordinal: number
  readonly #keeper: Keeper<L>
  deadline: number
  heapIndex = -1
  intervalMs: number
  #trustedUntil: number
  #renewing: boolean
  #renewAt: number
  /** Until then `#renewAt` is the last moment; whether it has to be earlier is decided half an interval before. */
  #planned = false
  /** By how much the next renewal comes earlier than it has to. Twice, so that half an interval becomes a whole one. */
  #repeatMs = 0
  readonly #renewUntil: number
  #suspect = false
  /** What was sent before proves nothing any more. */
  #provenFrom = -Infinity
  /** When the latest request was sent whose answer trust rests on. */
  provenAt: number
  leaseMs: number
  #ended = false
  /** Whose answers count: those of an earlier round, or to a watch that has ended, match nothing. */
  #round: object | undefined

  constructor(keeper: Keeper<L>, lease: L, grant: Grant, ordinal: number) {
    this.lease = lease
    this.ordinal = ordinal
    this.#keeper = keeper
    this.provenAt = grant.sentAt
    this.leaseMs = grant.ttlMs
    this.#trustedUntil = trustedUntil(grant.sentAt, grant.ttlMs)
    this.intervalMs = this.#intervalFor(grant.ttlMs)
    this.#renewing = grant.renew
    this.#renewAt = grant.sentAt + this.intervalMs
    this.#renewUntil = grant.sentAt + (grant.renewForMs ?? Infinity)
    this.deadline = this.#nextEventAt()
  }

  get trustedForMs(): number {
    if (this.#ended) return 0
    this.#keeper.look()
    return this.trustAt(this.#keeper.clock.now())
  }

  trustAt(now: number): number {
    return this.#ended || this.#suspect ? 0 : Math.max(0, this.#trustedUntil - now)
  }

  get renewing(): boolean {
    return this.renewingAt(this.#keeper.clock.now())
  }

  renewingAt(now: number): boolean {
    return !this.#ended && this.renewsAt(now)
  }

  get suspect(): boolean {
    return this.#suspect
  }

  setRenewing(on: boolean): void {
    if (this.#ended || on === this.#renewing) return
    this.#renewing = on
    if (on) this.#resumeRenewal()
    this.#reschedule()
  }

  confirm(sentAt: number, ttlMs: number): void {
    requireDuration('ttlMs', ttlMs)
    if (!this.#admits(sentAt)) return
    this.provenAt = Math.max(this.provenAt, sentAt)
    const until = trustedUntil(sentAt, ttlMs)
    // What a suspect watch trusted before the jump is void: the new answer counts even if it ends earlier.
    const grows = this.#suspect || until > this.#trustedUntil
    if (grows) {
      this.#trustedUntil = until
      this.leaseMs = ttlMs
      this.intervalMs = this.#intervalFor(ttlMs)
    }
    // Also when trust did not grow: a renewed lease that stayed due would be renewed again at once, for ever.
    const interval = this.#intervalFor(ttlMs)
    const early = Math.min(this.#repeatMs, interval / 2)
    this.#aimAt(
      this.#suspect ? sentAt + interval - early : Math.max(this.#renewAt, sentAt + interval - early),
    )
    this.#planned = early > 0
    this.#suspect = false
    this.#reschedule()
  }

  correct(sentAt: number, remainingMs: number, { mayGrow = true } = {}): void {
    requireDuration('remainingMs', remainingMs)
    if (!this.#admits(sentAt)) return
    this.provenAt = Math.max(this.provenAt, sentAt)
    const until = trustedUntil(sentAt, remainingMs)
    this.#trustedUntil = mayGrow || this.#suspect ? until : Math.min(until, this.#trustedUntil)
    this.#suspect = false
    if (this.trustOverAt(this.#keeper.clock.now())) {
      // At once: whoever asked goes on with the answer, before any timer.
      this.lose('expired')
      return
    }
    this.#resumeRenewal()
    this.#reschedule()
  }

  doubt(): void {
    if (this.#ended) return
    const now = this.#keeper.clock.now()
    if (this.#suspect) {
      // The store may have answered the question that is on its way before what this doubt is about: that answer proves
      // nothing, and the store is asked again behind it.
      this.#provenFrom = Math.max(this.#provenFrom, now)
      return
    }
    this.becomeSuspect(now)
    this.#keeper.verify(this)
  }

  lose(reason: LossReason): void {
    if (this.#ended) return
    this.stop()
    this.#keeper.guard(() => this.lease.onLost(reason))
  }

  stop(): void {
    if (this.#ended) return
    this.#ended = true
    this.#round = undefined
    this.#keeper.ended(this)
  }

  trustOverAt(now: number): boolean {
    return now >= this.#trustedUntil
  }

  renewsAt(now: number): boolean {
    return this.#renewing && now < this.#renewUntil
  }

  /** Whether a renewal is planned at `time` or before, and nobody is about it already. */
  renewalDueBy(time: number): boolean {
    return this.#round === undefined && !this.#ended && this.#plannedRenewal() <= time
  }

  /** The last moment of the next renewal, monotonic ms. */
  get renewAt(): number {
    return this.#renewAt
  }

  /** Whether it is to be decided by `time` when the next renewal comes. */
  planDueBy(time: number): boolean {
    return this.#round === undefined && !this.#ended && !this.#planned && this.#planAt() <= time
  }

  /** The next renewal comes at `at`, which is no later than `renewAt`, and the one after it `earlyMs` early as well. */
  plan(at: number, earlyMs: number): void {
    this.#aimAt(at)
    this.#planned = true
    this.#repeatMs = earlyMs
    this.#reschedule()
  }

  /** What the watch knew before `since` is void, and so is every answer that is still on its way. */
  becomeSuspect(since: number): void {
    this.#suspect = true
    // A doubt may be heard after a jump that came after it.
    this.#provenFrom = Math.max(this.#provenFrom, since)
    this.#round = undefined
    this.#reschedule()
  }

  isIn(round: object): boolean {
    return this.#round === round
  }

  enter(round: object): void {
    if (this.#ended) return
    this.#round = round
    this.#reschedule()
  }

  leave(round: object): void {
    if (this.#round !== round) return
    this.#round = undefined
    // Latched, because a planned renewal that may no longer start would stay due for ever.
    if (!this.renewsAt(this.#keeper.clock.now())) this.#renewing = false
    if (this.#suspect) this.#keeper.verify(this)
    else this.#reschedule()
  }

  /** Whether an answer to a request of that time is about what is there now. */
  #admits(sentAt: number): boolean {
    return !this.#ended && !this.#keeper.look() && sentAt >= this.#provenFrom
  }

  /** A lease granted for less than a renewal sets must be renewed before that is over. */
  #intervalFor(ttlMs: number): number {
    return renewalIntervalMs(Math.min(ttlMs, this.lease.ttlMs))
  }

  #resumeRenewal(): void {
    this.#aimAt(resumeRenewalAt(this.#keeper.clock.now(), this.#trustedUntil, this.intervalMs))
  }

  #aimAt(renewAt: number): void {
    this.#renewAt = renewAt
    this.#planned = false
    this.#repeatMs = 0
  }

  #plannedRenewal(): number {
    return this.#renewing && this.#renewAt < this.#renewUntil ? this.#renewAt : Infinity
  }

  #planAt(): number {
    return this.#plannedRenewal() - this.intervalMs / 2
  }

  #nextEventAt(): number {
    if (this.#round !== undefined) return this.#trustedUntil
    return Math.min(this.#trustedUntil, this.#planned ? this.#plannedRenewal() : this.#planAt())
  }

  #reschedule(): void {
    if (!this.#ended) this.#keeper.move(this, this.#nextEventAt())
  }
}
