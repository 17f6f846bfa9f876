const BEAT_MS = 10
const LARGE_STEP_MS = 500

/**
 * How long this process stood still, and how far the wall clock moved away from the monotonic one. Either ends leases
 * rightly: a loss after one of them says nothing about Holdfast.
 */
export class Pulse {
  #longestStallMs = 0
  #largestStepMs = 0
  /** The most of all stalls within the time of one lease: many short ones keep renewals as one long one does. */
  #mostStalledMs = 0
  readonly #leaseMs: number
  /** Stalls of the latest lease, the oldest first. */
  readonly #stalls: { readonly at: number; readonly ms: number }[] = []
  #stalledMs = 0
  #last = performance.now()
  #offset = Date.now() - performance.now()
  readonly #timer = setTimeout(() => this.#beat(), BEAT_MS)

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs
  }

  /** Whether a lease may have ended before its time. */
  get stumbled(): boolean {
    return this.#largestStepMs > LARGE_STEP_MS || this.#mostStalledMs > this.#leaseMs / 3
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  toString(): string {
    return `longest stall of this process ${Math.round(this.#longestStallMs)} ms (${Math.round(this.#mostStalledMs)} ms in one lease), largest step of the wall clock ${Math.round(this.#largestStepMs)} ms`
  }

  #beat(): void {
    const [now, offset] = [performance.now(), Date.now() - performance.now()]
    this.#stalled(now, Math.max(0, now - this.#last - BEAT_MS))
    this.#largestStepMs = Math.max(this.#largestStepMs, Math.abs(offset - this.#offset))
    this.#last = now
    this.#offset = offset
    this.#timer.refresh()
  }

  #stalled(at: number, ms: number): void {
    this.#longestStallMs = Math.max(this.#longestStallMs, ms)
    this.#stalls.push({ at, ms })
    this.#stalledMs += ms
    for (let [first] = this.#stalls; first && first.at < at - this.#leaseMs; [first] = this.#stalls) {
      this.#stalledMs -= first.ms
      this.#stalls.shift()
    }
    this.#mostStalledMs = Math.max(this.#mostStalledMs, this.#stalledMs)
  }
}
