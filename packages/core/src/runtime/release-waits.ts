import { CommandDeadlines, type InFlight } from './command-deadlines.js'
import { afterThisTick, type Clock } from './time.js'

/** Of what was passed on inside the process. */
export const RELEASED: Promise<'released'> = Promise.resolve('released')

/**
 * How long a call waits that ends by giving something back: the work is done, and Redis may be down. One timer for all
 * of them, because every `withLock` comes by here.
 */
export class ReleaseWaits {
  private readonly deadlines: CommandDeadlines
  private closed = false

  constructor(clock: Clock, waitMs: number, beforeResume: () => void) {
    this.deadlines = new CommandDeadlines(clock, waitMs, beforeResume)
  }

  /**
   * What the release came to; null: nobody knows in time. Then it goes on in the background, where `release-failed`
   * tells of it.
   * @throws what it failed with in time
   */
  outcomeOf<T>(release: Promise<T>): Promise<T | null> {
    // Passed on here, past Redis: nothing to wait for.
    if ((release as Promise<unknown>) === RELEASED) {
      return release
    }
    return new Promise((resolve, reject) => {
      if (this.closed) {
        // No timer any more. What is known at once is told, such as that the close took the lock away.
        release.then(resolve, reject)
        afterThisTick(() => resolve(null))
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

  /** The client is closed: nobody goes on with the release. */
  abandon(): void {
    this.expire()
  }
}
