import { CommandDeadlines, type InFlight } from './command-deadlines.js'
import type { Runtime } from './runtime.js'

/** The result of a release by local hand-over. */
export const RELEASED: Promise<'released'> = Promise.resolve('released')

/**
 * How long calls wait for the release at their end: the work is done, and Redis may be down. One timer for all of
 * them, because every `withLock` waits here.
 */
export class ReleaseWaits {
  private readonly deadlines: CommandDeadlines
  private closed = false

  constructor(
    private readonly runtime: Runtime,
    waitMs: number,
    beforeResume: () => void,
  ) {
    this.deadlines = new CommandDeadlines(runtime, waitMs, beforeResume)
  }

  /**
   * Waits for a release, at most the time given. After that the release continues in the background, and
   * `release-failed` reports its failure.
   * @returns the outcome; null: not known in time
   * @throws the error of the release, if it fails in time
   */
  outcomeOf<T>(release: Promise<T>): Promise<T | null> {
    // A local hand-over, without Redis: nothing to wait for.
    if ((release as Promise<unknown>) === RELEASED) {
      return release
    }
    return new Promise((resolve, reject) => {
      if (this.closed) {
        // Timers are gone. Outcomes that are known at once still count, such as the loss by the close itself.
        release.then(resolve, reject)
        this.runtime.afterTurn(() => resolve(null))
        return
      }
      const wait = new ReleaseWait(() => resolve(null))
      this.deadlines.add(wait)
      release.then(
        (outcome) => {
          wait.settled = true
          resolve(outcome)
        },
        (error: unknown) => {
          wait.settled = true
          reject(error)
        },
      )
    })
  }

  close(): void {
    this.closed = true
    this.deadlines.close()
  }
}

class ReleaseWait implements InFlight {
  settled = false
  dueAt = 0
  onSettled = undefined

  constructor(readonly expire: () => void) {}

  /** The client is closed, and the release is abandoned. */
  abandon(): void {
    this.expire()
  }
}
