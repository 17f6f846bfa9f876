import { isRefusal } from '../redis/until-known.js'
import type { Session } from '../client/session.js'
import type { Member } from './member.js'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1_000

const healthOf = new WeakMap<Session, NodeHealth>()

/**
 * Whether a node of RedLocks answers, as one client knows it. A node that has let its whole time pass is passed over,
 * because whoever waits for it keeps the votes of the others meanwhile. It is asked in the background, now and then while
 * anybody wants a RedLock, and counts again when it has answered that in time.
 */
export class NodeHealth {
  private silent = false
  private isAsked = false
  private pauseMs = FIRST_PAUSE_MS
  /** Monotonic ms. */
  private nextAt = 0
  /** How long the latest answer took that was in time. */
  private tookMs = 0

  private constructor(private readonly session: Session) {}

  static of({ session }: Member): NodeHealth {
    const known = healthOf.get(session) ?? new NodeHealth(session)
    healthOf.set(session, known)
    return known
  }

  /**
   * Whether it is passed over; then it is asked in the background, unless it was just now.
   * @param timeoutMs how long it has for an answer
   */
  isPassedOver(member: Member, timeoutMs: number): boolean {
    if (this.silent && !this.isAsked && this.session.clock.now() >= this.nextAt) {
      void this.ask(member, timeoutMs)
    }
    return this.silent
  }

  answered(tookMs: number): void {
    this.silent = false
    this.tookMs = tookMs
  }

  /** It let its whole time pass. */
  wasSilent(): void {
    if (!this.silent) {
      this.silent = true
      this.nextAt = 0
      this.pauseMs = FIRST_PAUSE_MS
    }
  }

  /** How long an answer is worth waiting for that decides nothing: a node that is slower than the others counts, too. */
  graceMs(timeoutMs: number): number {
    return Math.min(timeoutMs, Math.max(timeoutMs / 4, 2 * this.tookMs))
  }

  private async ask(member: Member, timeoutMs: number): Promise<void> {
    const { clock } = this.session
    this.isAsked = true
    const askedAt = clock.now()
    const hasAnswered = await member.protocol.inspect().then(
      () => true,
      (error: unknown) => isRefusal(error),
    )
    this.isAsked = false
    const now = clock.now()
    if (hasAnswered && now - askedAt <= timeoutMs) {
      this.answered(now - askedAt)
      return
    }
    // Late is what was sent while it hung: it may answer in time by now.
    this.nextAt = now + (hasAnswered ? 0 : this.pauseMs)
    this.pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * this.pauseMs)
  }
}
