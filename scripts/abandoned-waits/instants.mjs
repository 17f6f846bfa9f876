import { setImmediate } from 'node:timers'

const LEAST_TIMER_MS = 2

/**
 * Calls back at any instant. A timer knows whole milliseconds and one place in a turn of the event loop, and an acquire
 * has mostly ended before the first of them.
 */
export class Instants {
  #near = new Set()
  #spinning = false

  /** @returns {() => void} calls it off */
  after(delayMs, fire) {
    const instant = { at: performance.now() + delayMs, fire }
    if (delayMs < LEAST_TIMER_MS) this.#watch(instant)
    else instant.timer = setTimeout(() => this.#watch(instant), delayMs - LEAST_TIMER_MS)
    return () => {
      clearTimeout(instant.timer)
      this.#near.delete(instant)
    }
  }

  #watch(instant) {
    this.#near.add(instant)
    if (!this.#spinning) this.#spin()
  }

  #spin() {
    const now = performance.now()
    for (const instant of this.#near) {
      if (instant.at > now) continue
      this.#near.delete(instant)
      instant.fire()
    }
    this.#spinning = this.#near.size > 0
    if (this.#spinning) setImmediate(() => this.#spin())
  }
}
