import type { Clock } from '../runtime/runtime.js'

// What is doubted is asked about at once. Of a server that goes on refusing each answer would be a doubt again.
const DOUBT_AGAIN_MS = 1_000

/**
 * What the client learns of a primary whose place another takes, before it has found that one: nothing that the former
 * primary granted is trusted until somebody has confirmed it. Who has a lock by then may have got it from the new one.
 */
export class FormerPrimary {
  private refusedAt = Number.NEGATIVE_INFINITY

  constructor(
    private readonly watchdog: { doubt(isDoubted: () => boolean): number },
    private readonly clock: Clock,
  ) {}

  /** The connection to it ends. */
  left(): void {
    this.watchdog.doubt(() => true)
  }

  /** It answers that it is no primary. */
  refused(): void {
    const now = this.clock.now()
    if (now - this.refusedAt >= DOUBT_AGAIN_MS) {
      this.refusedAt = now
      this.left()
    }
  }
}
