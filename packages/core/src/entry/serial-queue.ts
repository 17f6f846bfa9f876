/** Runs one operation at a time, in the order of the requests. */
export class SerialQueue {
  private taken = false
  private queue: (() => void)[] | null = null

  protected get isTaken(): boolean {
    return this.taken
  }

  /** Whether operations are waiting behind the current one. */
  protected get isQueued(): boolean {
    return this.queue !== null && this.queue.length > 0
  }

  /** Runs after every earlier operation has settled. */
  async runExclusive<T>(operation: () => Promise<T>): Promise<T> {
    const ticket = this.takeTicket()
    if (ticket) {
      await ticket
    }
    try {
      return await operation()
    } finally {
      this.passTicket()
    }
  }

  /** Null: the caller has the turn at once. A caller that has had it must call `passTurn`. */
  takeTicket(): Promise<void> | null {
    if (!this.taken) {
      this.taken = true
      return null
    }
    return new Promise((resolve) => (this.queue ??= []).push(resolve))
  }

  passTicket(): void {
    const next = this.queue?.shift()
    if (next) {
      next()
    } else {
      this.taken = false
    }
  }
}
