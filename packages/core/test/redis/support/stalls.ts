const TICK_MS = 10

/**
 * How far this process ran late: a busy machine may let no timer at all fire for a while, and what a timer does is late by
 * as much. A request and the timer after it may each be late, so that stalls count together.
 */
export class Stalls {
  private lateMs = 0
  private last = performance.now()
  private readonly ticks = setInterval(() => {
    const now = performance.now()
    this.note(now - this.last)
    this.last = now
  }, TICK_MS)

  /** Stops, and gives how long all stalls took, ms. */
  end(): number {
    clearInterval(this.ticks)
    this.note(performance.now() - this.last)
    return this.lateMs
  }

  /** A tick is late by less than one on a machine that is not busy. */
  private note(tickMs: number): void {
    if (tickMs > 2 * TICK_MS) this.lateMs += tickMs - TICK_MS
  }
}
