import type { Runtime } from '../../index.js'

/** Ends one wait early. A ring while nobody waits counts for the next wait. */
export class Doorbell {
  private hasRung = false
  private wake: (() => void) | null = null

  constructor(private readonly clock: Runtime) {}

  readonly ring = (): void => {
    this.hasRung = true
    this.wake?.()
  }

  /** Everything read from now on is as new as every ring so far. */
  answered(): void {
    this.hasRung = false
  }

  /** Resolves at a ring, after the time, or as soon as the signal aborts. */
  wait(limitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        timer.cancel()
        signal.removeEventListener('abort', finish)
        this.wake = null
        resolve()
      }
      const timer = this.clock.setTimer(limitMs, finish)
      signal.addEventListener('abort', finish, { once: true })
      this.wake = finish
      if (this.hasRung || signal.aborted) {
        finish()
      }
    })
  }
}
