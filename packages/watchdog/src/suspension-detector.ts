import type { WatchdogClock } from './clock.js'

/** With more time than this between two reads, the process was paused in between, and the difference is meaningless. */
const MAX_READ_GAP_MS = 5
const MIN_JUMP_MS = 50

/**
 * Detects that the wall clock ran ahead of the monotonic one, which stops while a machine is suspended. A wall clock
 * set forward by hand looks the same; one that is set back, or drifts, is harmless.
 */
export class SuspensionDetector {
  // Both are written only here.
  /** Monotonic ms of the check that found the last jump: requests sent before it prove nothing any more. */
  jumpedAt = -Infinity
  /** Monotonic ms of the last check. */
  lookedAt = -Infinity
  private offset = Infinity

  constructor(private readonly clock: WatchdogClock) {
    this.look()
  }

  /** True if the wall clock has jumped ahead since the last check. */
  look(): boolean {
    const now = this.clock.now()
    const offset = this.clock.wallNow() - now
    const grown = offset - this.offset
    this.lookedAt = now
    if (grown > MAX_READ_GAP_MS) {
      this.lookedAt = this.clock.now()
      if (this.lookedAt - now > MAX_READ_GAP_MS) {
        return false
      }
    }
    this.offset = offset
    const jumped = grown > MIN_JUMP_MS
    if (jumped) {
      this.jumpedAt = this.lookedAt
    }
    return jumped
  }
}
