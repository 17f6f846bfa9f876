import type { Runtime } from '../runtime/runtime.js'

// Measured: below this number of concurrent flows a command each is faster; above it, scripts with half of them.
const FEW = 8

/**
 * Counts commands in flight, to decide how many of the next ones are sent together. Callers that one reply resumes
 * send again in the same turn. If all of them were sent as one script, Redis would idle while the callers run, and
 * the callers while Redis works.
 */
export class UnderWay {
  private unanswered = 0
  /** Replies of this turn whose callers have not sent again yet. There may be more new commands than replies. */
  private answered = 0

  constructor(private readonly runtime: Pick<Runtime, 'microtask' | 'nextTick'>) {}

  /**
   * Whether to send what is gathered before the turn ends: resumed callers are still to come, and the gathered
   * commands are half of all, or all are so few that none should wait for another.
   */
  isEnough(gathered: number): boolean {
    const all = this.unanswered + this.answered
    return gathered < this.answered && (all < FEW || 2 * gathered >= all)
  }

  sent(count: number): void {
    this.unanswered += count
    this.answered = Math.max(0, this.answered - count)
  }

  settled(count: number): void {
    this.unanswered -= count
    if (this.answered === 0) {
      this.runtime.microtask(this.afterResumed)
    }
    this.answered += count
  }

  private readonly afterResumed = (): void => {
    this.runtime.nextTick(this.endTurn)
  }

  private readonly endTurn = (): void => {
    this.answered = 0
  }
}
