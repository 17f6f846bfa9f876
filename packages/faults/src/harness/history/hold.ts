import {
  type AcquireBegin,
  type Acquired,
  type Killed,
  type Lost,
  type Mode,
  modeOf,
  type Released,
  type ReleaseBegin,
  type Trusted,
} from './events.js'

/** One outermost acquisition, as its owner saw it. */
export class Hold {
  readonly begin: AcquireBegin
  readonly acquired: Acquired
  /** Re-entries and renewals, in order of time. */
  readonly #extensions: (Acquired | Trusted)[] = []
  readonly #levels: Record<Mode, number> = { exclusive: 0, shared: 0 }
  #untilMs: number
  #end: ReleaseBegin | Lost | Killed | undefined
  #lost = false
  /** When Redis was known to have it no longer under this owner. */
  #freeSinceMs: number | undefined
  #isReleased = false
  #downgradedMs = Infinity

  constructor(begin: AcquireBegin, acquired: Acquired) {
    this.begin = begin
    this.acquired = acquired
    this.#untilMs = acquired.trustedUntilMs
    this.#levels[modeOf(begin)] = 1
  }

  get owner(): string {
    return this.acquired.owner
  }

  get startMs(): number {
    return this.acquired.atMs
  }

  /** How it was taken; what was taken exclusively may be left as shared. */
  get mode(): Mode {
    return modeOf(this.begin)
  }

  /** End of the belief: release, loss or death, or the end of trust when that is earlier. */
  get endMs(): number {
    return Math.min(this.#end?.atMs ?? Infinity, this.#untilMs)
  }

  /** Until when the owner believed to be the only one. */
  get exclusiveEndMs(): number {
    return this.mode === 'exclusive' ? Math.min(this.#downgradedMs, this.endMs) : -Infinity
  }

  /**
   * Until when nobody else could have the lock, as far as the owner knows: its release may take effect at any
   * moment before the answer, and what is not released stays until its lease ends.
   */
  get occupiedUntilMs(): number {
    return Math.max(this.startMs, this.#freeSinceMs ?? this.#untilMs)
  }

  /** The same for those who would share it. */
  get closedUntilMs(): number {
    return this.mode === 'exclusive' ? Math.min(this.#downgradedMs, this.occupiedUntilMs) : -Infinity
  }

  /** An answer that came when its trust had already run out was never believed. */
  get believed(): boolean {
    return this.#untilMs > this.startMs
  }

  /**
   * Whether an acquisition of this mode by its owner, at this time, is a re-entry. A writer whose lock is only in doubt,
   * as after a restart of Redis, is still the one who takes the read lock besides: it trusts both again when it has asked.
   */
  isReenteredBy(mode: Mode, ms: number): boolean {
    if (this.#end !== undefined) return false
    const isWriter = this.#levels.exclusive > 0
    return mode === 'shared' ? isWriter || this.#untilMs > ms : isWriter && this.#untilMs > ms
  }

  /** Whether its owner heard that it is released, all of it. */
  get isGivenBack(): boolean {
    return this.#isReleased
  }

  /** Whether an honest server may say "you are not the owner" by now. */
  mayBeDisownedAt(ms: number): boolean {
    return this.#lost || this.#isReleased || this.#untilMs <= ms
  }

  /** Its exclusive levels have been released, and shared ones have not. */
  get isLeftShared(): boolean {
    return this.#downgradedMs < Infinity && this.#levels.shared > 0
  }

  reenter(begin: AcquireBegin, event: Acquired): void {
    this.#levels[modeOf(begin)] += 1
    // A re-entry never weakens: a shorter lease of the inner level leaves the trust alone.
    this.#untilMs = Math.max(this.#untilMs, event.trustedUntilMs)
    this.#extensions.push(event)
  }

  trust(event: Trusted): void {
    if (this.#end !== undefined) return
    // Renewal never creates a lock. So one that succeeds after trust had lapsed proves that the lock was held
    // throughout, and nobody else may have believed in between: the belief has no gap.
    this.#untilMs = event.untilMs
    this.#extensions.push(event)
  }

  beginRelease(event: ReleaseBegin): void {
    const levels = this.#levels
    const wanted = event.mode ?? 'exclusive'
    levels[levels[wanted] > 0 ? wanted : wanted === 'shared' ? 'exclusive' : 'shared'] -= 1
    if (levels.exclusive + levels.shared <= 0) this.#end ??= event
    else if (levels.exclusive <= 0) this.#downgradedMs = Math.min(this.#downgradedMs, event.atMs)
  }

  released(event: Released): void {
    if (event.outcome === 'released' && !this.isLeftShared) this.#isReleased = true
    if (this.#isReleased || event.outcome === 'lost') this.#freeSinceMs ??= event.atMs
  }

  lose(event: Lost): void {
    this.#lost = true
    if (isTakenAway(event)) this.#freeSinceMs ??= event.atMs
    this.#end ??= event
  }

  die(event: Killed): void {
    this.#end ??= event
  }

  /** The fewest events that show that the owner trusted its hold at that time. */
  proofOfTrust(ms: number): (Acquired | Trusted)[] {
    if (this.acquired.trustedUntilMs > ms) return [this.acquired]
    const extension = this.#extensions.find((event) => reach(event) > ms)
    return extension === undefined ? [this.acquired] : [this.acquired, extension]
  }

  /** The event that shows that the belief was over. */
  proofOfEnd(): Acquired | Trusted | ReleaseBegin | Lost | Killed {
    const end = this.#end
    if (end !== undefined && end.atMs <= this.#untilMs) return end
    return this.#extensions.findLast((event) => reach(event) === this.#untilMs) ?? this.acquired
  }
}

/** Whether Redis has it no longer. Other losses say only that the owner must not trust it any longer. */
export const isTakenAway = ({ reason }: Lost): boolean => reason === 'gone' || reason === 'forced'

const reach = (event: Acquired | Trusted): number =>
  event.kind === 'trusted' ? event.untilMs : event.trustedUntilMs
