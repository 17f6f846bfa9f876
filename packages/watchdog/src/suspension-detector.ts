import type { WatchdogClock } from './clock.js'

/** Reads further apart than this straddle a pause of the process: their difference says nothing. */
const MAX_READ_GAP_MS = 5
const MIN_JUMP_MS = 50

/**
 * Notices that the wall clock ran ahead of the monotonic one, which stands still while a machine is
 * suspended. A wall clock that somebody set forward looks the same; set back, or drifting, it is harmless.
 */
export class SuspensionDetector {
  readonly #clock: WatchdogClock
  #offset: number | undefined
  #jumpedAt = -Infinity
  #lookedAt = -Infinity

  constructor(clock: WatchdogClock) {
    this.#clock = clock
    this.look()
  }

  /** Monotonic ms of the look that found the last jump: what was sent earlier proves nothing any more. */
  get jumpedAt(): number {
    return this.#jumpedAt
  }

  /** Monotonic ms of the last look. */
  get lookedAt(): number {
    return this.#lookedAt
  }

  /** True when the wall clock has jumped ahead since the last look. */
  look(): boolean {
    const before = this.#clock.now()
    const wall = this.#clock.wallNow()
    const after = this.#clock.now()
    this.#lookedAt = after
    if (after - before > MAX_READ_GAP_MS) return false
    const offset = wall - after
    const jumped = this.#offset !== undefined && offset - this.#offset > MIN_JUMP_MS
    this.#offset = offset
    if (jumped) this.#jumpedAt = after
    return jumped
  }
}
