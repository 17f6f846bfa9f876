// As it was when this module was loaded: a test that fakes the process's timers must not stop what it tests.
export const nextTick = process.nextTick.bind(process)

// Measured: with fewer flows than that a command for each is faster, with more of them scripts of half of them are.
const FEW = 8

/**
 * How many commands are under way, to tell how many of the next ones travel together. Callers that are resumed by one
 * answer ask again in one turn. All of them in one script, Redis would rest while they run, and they while it works.
 */
export class UnderWay {
  private unanswered = 0
  /** In this turn of the event loop, and their callers have not asked again. More may be asked than were answered. */
  private answered = 0

  /**
   * Whether those that are gathered should leave before the turn ends: callers that were resumed are still to ask, and
   * they are half of all there are, or there are so few that none should wait for another.
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
      nextTick(this.endTurn)
    }
    this.answered += count
  }

  private readonly endTurn = (): void => {
    this.answered = 0
  }
}
