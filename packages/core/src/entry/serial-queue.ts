/** Runs one operation at a time, in the order of the requests. */
export class SerialQueue {
  /** Whether an operation runs, and that it is a quiet one; or those that wait behind it. */
  private state: 'free' | 'taken' | 'quiet' | (() => void)[] = 'free'

  /** An operation runs. */
  get isTaken(): boolean {
    return this.state !== 'free'
  }

  /** At most a quiet operation runs, and none waits behind it. */
  get isQuiet(): boolean {
    return this.state === 'free' || this.state === 'quiet'
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
    if (isQuiet && this.state === 'taken') {
      this.state = 'quiet'
    }
    try {
      return await operation()
    } finally {
      this.passTicket()
    }
  }

  /** Null: the caller has the ticket at once. A caller that has had it must call `passTicket`. */
  takeTicket(): Promise<void> | null {
    if (this.state === 'free') {
      this.state = 'taken'
      return null
    }
    const behind: (() => void)[] = typeof this.state === 'string' ? (this.state = []) : this.state
    return new Promise((resolve) => behind.push(resolve))
  }

  passTicket(): void {
    const next = typeof this.state === 'string' ? undefined : this.state.shift()
    if (!next) {
      this.state = 'free'
    } else if (this.state.length === 0) {
      this.state = 'taken'
    }
    next?.()
  }
}
