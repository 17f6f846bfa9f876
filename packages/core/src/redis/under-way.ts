import type { Runtime } from '../runtime/runtime.js'

// Measured with 1 to 1,000 flows: below FEW of them a command each is fastest, and above it scripts with a quarter of
// them. With halves, both answers arrive while the client wakes up: it sends both again, and Redis and the client sleep
// in turns. With more parts, each costs more than it saves.
const FEW = 14
const PARTS = 4

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
   * commands are a quarter of all, or all are so few that none should wait for another.
   */
  isEnough(gathered: number): boolean {
    const all = this.unanswered + this.answered
    return gathered < this.answered && (all < FEW || PARTS * gathered >= all)
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

  /** Replies are handled before the microtasks in which their callers run: a tick from here would come too early. */
  private readonly afterResumed = (): void => {
    this.runtime.nextTick(this.forgetAnswered)
  }

  private readonly forgetAnswered = (): void => {
    this.answered = 0
  }
}
