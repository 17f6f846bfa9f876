import { isRefusal } from '../redis/until-known.js'
import type { LockServices } from '../locks/services.js'
import type { Member } from './member.js'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1_000

const healthOf = new WeakMap<LockServices, NodeHealth>()

/**
 * Tracks whether a node of RedLocks replies, for one client. A node that has used up its whole time is skipped,
 * because a caller that waits for it blocks the votes of the others meanwhile. While RedLocks are requested it is
 * probed in the background now and then, and counts again when it has replied in time.
 */
export class NodeHealth {
  private silent = false
  private isAsked = false
  private pauseMs = FIRST_PAUSE_MS
  /** Monotonic ms. */
  private nextAt = 0
  /** Duration of the latest reply that came in time. */
  private tookMs = 0

  private constructor(private readonly session: LockServices) {}

  static of({ session }: Member): NodeHealth {
    const known = healthOf.get(session) ?? new NodeHealth(session)
    healthOf.set(session, known)
    return known
  }

  /**
   * Whether to skip the node; it is then probed in the background, unless that was done recently.
   * @param timeoutMs time for a reply
   */
  isPassedOver(member: Member, timeoutMs: number): boolean {
    if (this.silent && !this.isAsked && this.session.runtime.now() >= this.nextAt) {
      void this.ask(member, timeoutMs)
    }
    return this.silent
  }

  answered(tookMs: number): void {
    this.silent = false
    this.tookMs = tookMs
  }

  /** The node used up its whole time. */
  wasSilent(): void {
    if (!this.silent) {
      this.silent = true
      this.nextAt = 0
      this.pauseMs = FIRST_PAUSE_MS
    }
  }

  /** How long to wait for a reply that decides nothing: nodes slower than the others should count, too. */
  graceMs(timeoutMs: number): number {
    return Math.min(timeoutMs, Math.max(timeoutMs / 4, 2 * this.tookMs))
  }

  private async ask(member: Member, timeoutMs: number): Promise<void> {
    const { runtime } = this.session
    this.isAsked = true
    const askedAt = runtime.now()
    const hasAnswered = await member.protocol.inspect().then(
      () => true,
      (error: unknown) => isRefusal(error),
    )
    this.isAsked = false
    const now = runtime.now()
    if (hasAnswered && now - askedAt <= timeoutMs) {
      this.answered(now - askedAt)
      return
    }
    // The late reply is to a command sent while the node hung: it may reply in time by now.
    this.nextAt = now + (hasAnswered ? 0 : this.pauseMs)
    this.pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * this.pauseMs)
  }
}
