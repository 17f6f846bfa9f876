import type { AcquireBegin, Acquired, Killed, Lost, Released, ReleaseBegin, Trusted } from './events.js'

/** One outermost acquisition, as its owner saw it. */
export class Hold {
  readonly begin: AcquireBegin
  readonly acquired: Acquired
  /** Re-entries and renewals, in order of time. */
  readonly #extensions: (Acquired | Trusted)[] = []
  #levels = 1
  #untilMs: number
  #end: ReleaseBegin | Lost | Killed | undefined
  #lost = false
  #givenBack = false

  constructor(begin: AcquireBegin, acquired: Acquired) {
    this.begin = begin
    this.acquired = acquired
    this.#untilMs = acquired.trustedUntilMs
  }

  get owner(): string {
    return this.acquired.owner
  }

  get startMs(): number {
    return this.acquired.atMs
  }

  /** Until when the owner may act as such, unless something ends it before. */
  get untilMs(): number {
    return this.#untilMs
  }

  /** What ended the belief before its time. */
  get end(): ReleaseBegin | Lost | Killed | undefined {
    return this.#end
  }

  /** End of the belief: release, loss or death, or the end of trust when that is earlier. */
  get endMs(): number {
    return Math.min(this.#end?.atMs ?? Infinity, this.#untilMs)
  }

  /** An answer that came when its trust had already run out was never believed. */
  get believed(): boolean {
    return this.#untilMs > this.startMs
  }

  isOpenAt(ms: number): boolean {
    return this.#end === undefined && this.#untilMs > ms
  }

  /** Whether an honest server may say "you are not the owner" by now. */
  mayBeDisownedAt(ms: number): boolean {
    return this.#lost || this.#givenBack || this.#untilMs <= ms
  }

  reenter(event: Acquired): void {
    this.#levels += 1
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
    this.#levels -= 1
    if (this.#levels <= 0) this.#end ??= event
  }

  released(event: Released): void {
    if (event.outcome === 'released') this.#givenBack = true
  }

  lose(event: Lost): void {
    this.#lost = true
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

  /** What shows that the belief was over. */
  proofOfEnd(): Acquired | Trusted | ReleaseBegin | Lost | Killed {
    const end = this.#end
    if (end !== undefined && end.atMs <= this.#untilMs) return end
    return this.#extensions.findLast((event) => reach(event) === this.#untilMs) ?? this.acquired
  }
}

const reach = (event: Acquired | Trusted): number =>
  event.kind === 'trusted' ? event.untilMs : event.trustedUntilMs
