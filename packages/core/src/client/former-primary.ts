import type { Clock } from '../runtime/runtime.js'

// A doubt queries Redis at once. If a server kept refusing, each of its replies would cause another doubt.
const DOUBT_AGAIN_MS = 1_000

/**
 * What the client learns about a primary that is being replaced, before it has found the new one: nothing the former
 * primary granted is trusted until the new one has confirmed it, because by then it may have granted the lock to
 * another owner.
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
