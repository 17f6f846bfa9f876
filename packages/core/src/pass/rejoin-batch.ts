import type { ScriptRunner } from '../redis/script-runner.js'
import type { Runtime } from '../runtime/runtime.js'

/** How long after a hold of its client a caller counts as returning, and how long it waits for others at most, ms. */
const RETURN_MS = 5

interface Rejoins {
  /** When a hold of this client ended, monotonic ms. */
  endedAt: number
  /** A release awaits its reply. */
  isReleasing: boolean
  sends: (() => void)[]
  timer: { cancel(): void } | null
}

interface RejoinBatcherParts {
  readonly runner: Pick<ScriptRunner, 'keepTogether'>
  readonly runtime: Runtime
  /** The locks held by this client. */
  readonly held: { isHeld(key: string): boolean }
}

/**
 * Batches the callers that return to a fair lock which their client has just held, while others of that client wait
 * for it or hold it. They join the queue together: the lock is passed on locally only between adjacent waiters, and
 * callers that return one by one would never be adjacent. See docs/decisions/0032-passed-along-the-line.md.
 */
export class RejoinBatcher {
  /** Ordered by the end of the last hold, the oldest first. */
  private readonly byLock = new Map<string, Rejoins>()

  constructor(private readonly parts: RejoinBatcherParts) {}

  /**
   * Sends the try that enqueues a new waiter: at once, or batched with others if it returns.
   * @param waiting this client's waiters, this one included
   */
  enter<T>(lockKey: string, waiting: number, send: () => Promise<T>): Promise<T> {
    const { runtime, held } = this.parts
    const here = this.byLock.get(lockKey)
    const hasCompany = waiting > 1 || held.isHeld(lockKey)
    const comesBack = here && (here.isReleasing || (hasCompany && runtime.now() < here.endedAt + RETURN_MS))
    // A later caller must not overtake those that are batched (I10).
    if (!here || !(comesBack || here.sends.length > 0)) {
      return send()
    }
    here.timer ??= runtime.setTimer(RETURN_MS, () => this.sendAll(here))
    return new Promise((resolve) => here.sends.push(() => resolve(send())))
  }

  /** A hold was passed on, monotonic ms. */
  passedOn(lockKey: string, at: number): void {
    this.at(lockKey).endedAt = at
  }

  /**
   * Sends a release. If all waiters of this client have returned, they join the queue as soon as its reply arrives:
   * together with the last one to return, and without making waiters of other clients wait for it.
   * @param waiting this client's waiters, those that have returned included
   */
  release<T>(lockKey: string, waiting: number, send: () => Promise<T>): Promise<T> {
    const answer = send()
    if (waiting > 0 || this.byLock.has(lockKey)) {
      const here = this.at(lockKey)
      const areAllBack = waiting === here.sends.length
      here.isReleasing = true
      const settled = (): void => this.released(lockKey, here, areAllBack)
      answer.then(settled, settled)
    }
    return answer
  }

  private released(lockKey: string, here: Rejoins, areAllBack: boolean): void {
    here.isReleasing = false
    here.endedAt = this.parts.runtime.now()
    this.byLock.delete(lockKey)
    this.forgetOld()
    this.byLock.set(lockKey, here)
    if (areAllBack) {
      this.parts.runtime.afterTurn(() => this.sendAll(here))
    }
  }

  private sendAll(here: Rejoins): void {
    const { sends } = here
    here.timer?.cancel()
    here.timer = null
    here.sends = []
    this.parts.runner.keepTogether()
    sends.forEach((send) => send())
  }

  private at(lockKey: string): Rejoins {
    const known = this.byLock.get(lockKey)
    if (known) {
      return known
    }
    this.forgetOld()
    const here = { endedAt: 0, isReleasing: false, sends: [], timer: null }
    this.byLock.set(lockKey, here)
    return here
  }

  /** Many services put ids into lock names: no entry may outlive the callers that return (I8). */
  private forgetOld(): void {
    const longAgo = this.parts.runtime.now() - RETURN_MS
    for (const [lockKey, { endedAt, isReleasing, sends }] of this.byLock) {
      if (endedAt > longAgo || isReleasing || sends.length > 0) {
        return
      }
      this.byLock.delete(lockKey)
    }
  }
}
