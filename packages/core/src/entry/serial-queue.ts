/** Runs one operation at a time, in the order of the requests. */
export class SerialQueue {
  private running: 'nothing' | 'an operation' | 'a quiet operation' = 'nothing'
  private queue: (() => void)[] | null = null

  /** An operation runs. */
  get isTaken(): boolean {
    return this.running !== 'nothing'
  }

  /** At most a quiet operation runs, and none waits behind it. */
  get isQuiet(): boolean {
    return this.running !== 'an operation' && !this.queue?.length
  }

  /**
   * Runs after every earlier operation has settled.
   * @param isQuiet it changes nothing that those who ask `isQuiet` count on
   */
  async runExclusive<T>(operation: () => Promise<T>, isQuiet = false): Promise<T> {
    const ticket = this.takeTicket()
    if (ticket) {
      await ticket
    }
    this.running = isQuiet ? 'a quiet operation' : 'an operation'
    try {
      return await operation()
    } finally {
      this.passTicket()
    }
  }

  /** Null: the caller has the ticket at once. A caller that has had it must call `passTicket`. */
  takeTicket(): Promise<void> | null {
    if (!this.isTaken) {
      this.running = 'an operation'
      return null
    }
    return new Promise((resolve) => (this.queue ??= []).push(resolve))
  }

  passTicket(): void {
    const next = this.queue?.shift()
    this.running = next ? 'an operation' : 'nothing'
    next?.()
  }
}
