const TICK_MS = 10

/**
 * How far this process ran late: a busy machine may let no timer at all fire for a while, and what a timer does
 * is late by as much.
 */
export class Stalls {
  private worst = 0
  private last = performance.now()
  private readonly ticks = setInterval(() => {
    const now = performance.now()
    this.worst = Math.max(this.worst, now - this.last - TICK_MS)
    this.last = now
  }, TICK_MS)

  /** Stops, and gives the longest stall, ms. */
  end(): number {
    clearInterval(this.ticks)
    return Math.max(this.worst, performance.now() - this.last - TICK_MS)
  }
}
