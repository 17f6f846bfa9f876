import { CommandDeadlines, type InFlight } from './command-deadlines.js'
import type { Runtime } from './runtime.js'

/** The result of a release that passes the lock on. */
export const RELEASED: Promise<'released'> = Promise.resolve('released')

/** Calls back with whether what was sent for a lock, in this turn of the event loop, has left the process. */
export type WhenWritten = (tell: (isWritten: boolean) => void) => void

/** A hold, a permit or a run, as the call that ends it releases it. */
export interface Leaving<T> {
  release(): Promise<T>
  /**
   * Read before the release. Null: only its answer tells whether this was still held, and ends it. Otherwise a release that
   * was written proves as much as a lease that is trusted, and whatever this process sends next comes after it.
   */
  readonly whenWritten: WhenWritten | null
}

/**
 * How long calls wait for the release at their end: the work is done, and Redis may be down. One timer for all of
 * them, because every `withLock` waits here.
 */
export class ReleaseWaits {
  private readonly deadlines: CommandDeadlines
  private closed = false

  constructor(
    private readonly runtime: Runtime,
    private readonly waitMs: number,
    beforeResume: () => void,
    /** See `ScriptRunner`. */
    private readonly resumedGoOn: () => void,
  ) {
    this.deadlines = new CommandDeadlines(runtime, waitMs, beforeResume)
  }

  /**
   * Releases, and waits like `outcomeOf`; `releaseWaitMs: 0`: until the release was written, where that is enough.
   * @returns the outcome; null: not known in time
   * @throws the error of the release, if it fails in time
   */
  leave<T>(leaving: Leaving<T>): Promise<T | null> {
    return this.needWrites
      ? sentBy(leaving, (release) => this.outcomeOf(release), this.resumedGoOn)
      : this.outcomeOf(leaving.release())
  }

  /** `releaseWaitMs: 0`. */
  get needWrites(): boolean {
    return this.waitMs === 0
  }

  /**
   * Waits for a release, at most the time given. After that the release continues in the background, and
   * `release-failed` reports its failure.
   * @returns the outcome; null: not known in time
   * @throws the error of the release, if it fails in time
   */
  outcomeOf<T>(release: Promise<T>): Promise<T | null> {
    // The lock was passed on, without Redis: nothing to wait for.
    if ((release as Promise<unknown>) === RELEASED) {
      return release
    }
    return this.closed ? this.outcomeNow(release) : new ReleaseWait(release, this.deadlines).outcome
  }

  /** Timers are gone. Outcomes that are known at once still count, such as the loss by the close itself. */
  private outcomeNow<T>(release: Promise<T>): Promise<T | null> {
    return new Promise((resolve, reject) => {
      release.then(resolve, reject)
      this.runtime.afterTurn(() => resolve(null))
    })
  }

  close(): void {
    this.closed = true
    this.deadlines.close()
  }
}

/** One call that waits, until the release is known or its time is over. */
class ReleaseWait<T> implements InFlight {
  readonly outcome: Promise<T | null>
  settled = false
  dueAt = 0
  onSettled = undefined
  private resolve!: (outcome: T | null) => void

  constructor(release: Promise<T>, deadlines: CommandDeadlines) {
    this.outcome = new Promise((resolve, reject) => {
      this.resolve = resolve
      release.then(
        (outcome) => {
          this.settled = true
          resolve(outcome)
        },
        (error: unknown) => {
          this.settled = true
          reject(error)
        },
      )
    })
    deadlines.add(this)
  }

  expire(): void {
    this.resolve(null)
  }

  /** The client is closed, and the release is abandoned. */
  abandon(): void {
    this.resolve(null)
  }
}

/**
 * Releases, and waits until the release was written, where that is enough; otherwise as long as `otherwise` does.
 * @param resumedGoOn leaves what is sent to others of this turn: callers that go on then send together again
 * @returns the outcome; null: it was written, and is not known yet. Then a failure is told by events alone
 */
export function sentBy<T>(
  leaving: Leaving<T>,
  otherwise: (release: Promise<T>) => Promise<T | null>,
  resumedGoOn?: () => void,
): Promise<T | null> {
  const { whenWritten } = leaving
  if (whenWritten) {
    resumedGoOn?.()
  }
  const release = leaving.release()
  if (!whenWritten || (release as Promise<unknown>) === RELEASED) {
    return otherwise(release)
  }
  return new Promise((resolve, reject) => {
    release.then(resolve, reject)
    whenWritten((isWritten) => {
      if (isWritten) {
        resolve(null)
      } else {
        otherwise(release).then(resolve, reject)
      }
    })
  })
}
