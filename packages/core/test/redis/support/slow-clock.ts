import { backgroundRuntime, type Clock } from '../../../src/runtime/runtime.js'

// Node fires a timer with a longer delay after 1 ms.
const LONGEST_MS = 2 ** 31 - 1

/**
 * A clock whose time passes slowly, so that bounds of milliseconds are not used up by the test's own round trips. Its
 * timers keep real time, unless they are to be as slow.
 */
export class SlowClock implements Clock {
  private readonly startedAt = backgroundRuntime.now()
  private skippedMs = 0
  private sleptMs = 0

  readonly now = (): number => this.elapsed
  readonly wallNow = (): number => this.elapsed + this.sleptMs

  constructor(
    private readonly slowsTimers = false,
    private readonly slowness = 100,
  ) {}

  setTimer(delayMs: number, fire: () => void): { cancel(): void } {
    const slow = Math.min(delayMs * this.slowness, LONGEST_MS)
    return backgroundRuntime.setTimer(this.slowsTimers ? slow : delayMs, fire)
  }

  skip(ms: number): void {
    this.skippedMs += ms
  }

  /** The machine sleeps: its monotonic clock stands still. */
  suspend(ms: number): void {
    this.sleptMs += ms
  }

  private get elapsed(): number {
    return (backgroundRuntime.now() - this.startedAt) / this.slowness + this.skippedMs
  }
}
