import type { Clock } from './runtime.js'

// Avoids a busy loop when the due moment is now.
const SHORTEST_MS = 10

/** One timer for several due times: the earliest counts. */
export class SoonestTimer {
  private timer: { cancel(): void } | null = null
  private dueAt = Infinity

  constructor(
    private readonly clock: Clock,
    private readonly fire: () => void,
  ) {}

  /** Fires at most this many ms from now. */
  within(delayMs: number): void {
    const delay = Math.max(delayMs, SHORTEST_MS)
    const at = this.clock.now() + delay
    if (at >= this.dueAt) {
      return
    }
    this.cancel()
    this.dueAt = at
    this.timer = this.clock.setTimer(delay, () => {
      this.dueAt = Infinity
      this.fire()
    })
  }

  cancel(): void {
    this.timer?.cancel()
    this.timer = null
    this.dueAt = Infinity
  }
}
