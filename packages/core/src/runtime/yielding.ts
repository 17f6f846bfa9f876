import type { Runtime } from './runtime.js'

/** For how long calls may be answered from memory before the event loop runs, ms. */
const LONGEST_MS = 5

/**
 * Lets the event loop run between calls that are answered from memory. Each answer resumes its caller as a microtask:
 * a loop of such calls would keep timers and connections waiting for ever.
 */
export class Yielding {
  private since: number | null = null

  constructor(private readonly runtime: Pick<Runtime, 'now' | 'afterTurn'>) {}

  /** @returns null: this call may be answered at once; else resolves when the event loop has run */
  beforeAnswer(): Promise<void> | null {
    const { runtime } = this
    const now = runtime.now()
    if (this.since === null) {
      this.since = now
      runtime.afterTurn(() => (this.since = null))
      return null
    }
    return now - this.since < LONGEST_MS ? null : new Promise((resolve) => runtime.afterTurn(resolve))
  }
}
