const BEAT_MS = 10

const LARGE_STEP_MS = 500

/**
 * How long this process stood still, and how far the wall clock moved away from the monotonic one. Either ends leases
 * rightly: a loss after one of them says nothing about Holdfast.
 */
export class Pulse {
  longestStallMs = 0
  largestStepMs = 0
  #last = performance.now()
  #offset = Date.now() - performance.now()
  #timer = setTimeout(() => this.#beat(), BEAT_MS)

  /** Whether a lease this long may have ended before its time. */
  stumbled(leaseMs) {
    return this.largestStepMs > LARGE_STEP_MS || this.longestStallMs > leaseMs / 3
  }

  stop() {
    clearTimeout(this.#timer)
  }

  toString() {
    return `longest stall of this process ${Math.round(this.longestStallMs)} ms, largest step of the wall clock ${Math.round(this.largestStepMs)} ms`
  }

  #beat() {
    const [now, offset] = [performance.now(), Date.now() - performance.now()]
    this.longestStallMs = Math.max(this.longestStallMs, now - this.#last - BEAT_MS)
    this.largestStepMs = Math.max(this.largestStepMs, Math.abs(offset - this.#offset))
    this.#last = now
    this.#offset = offset
    this.#timer.refresh()
  }
}
