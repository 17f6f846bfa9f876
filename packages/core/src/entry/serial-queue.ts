/** Lets one operation at a time run, in the order in which they asked. */
export class SerialQueue {
  private taken = false
  private queue: (() => void)[] | null = null

  protected get isTaken(): boolean {
    return this.taken
  }

  /** Whether anybody waits behind whoever has the turn. */
  protected get isQueued(): boolean {
    return this.queue !== null && this.queue.length > 0
  }

  /** Runs after every earlier one has settled. */
  async runExclusive<T>(operation: () => Promise<T>): Promise<T> {
    const turn = this.takeTurn()
    if (turn) {
      await turn
    }
    try {
      return await operation()
    } finally {
      this.passTurn()
    }
  }

  /** Null: it is the caller's turn already. Who has had it passes it on. */
  takeTurn(): Promise<void> | null {
    if (!this.taken) {
      this.taken = true
      return null
    }
    return new Promise((resolve) => (this.queue ??= []).push(resolve))
  }

  passTurn(): void {
    const next = this.queue?.shift()
    if (next) {
      next()
    } else {
      this.taken = false
    }
  }
}
