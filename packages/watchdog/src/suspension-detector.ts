import type { WatchdogClock } from './clock.js'

/**
 * With more time than this between the reads, the process was paused in between, and the difference is meaningless.
 */
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
  private offset: number | undefined

  constructor(private readonly clock: WatchdogClock) {
    this.look()
  }

  /** True if the wall clock has jumped ahead since the last check. */
  look(): boolean {
    const before = this.clock.now()
    const wall = this.clock.wallNow()
    const after = this.clock.now()
    this.lookedAt = after
    if (after - before > MAX_READ_GAP_MS) {
      return false
    }
    const offset = wall - after
    const jumped = this.offset !== undefined && offset - this.offset > MIN_JUMP_MS
    this.offset = offset
    if (jumped) {
      this.jumpedAt = after
    }
    return jumped
  }
}
