import type { ScriptRunner } from '../redis/script-runner.js'
import { afterThisTick, type Clock } from '../runtime/time.js'

/** For so long after a hold of its client who comes counts as one that comes back, and waits at most, ms. */
const RETURN_MS = 5

interface Rejoins {
  /** When a hold of this client ended, monotonic ms. */
  endedAt: number
  /** A release is on its way. */
  isReleasing: boolean
  sends: (() => void)[]
  timer: { cancel(): void } | null
}

export interface RejoinBatcherParts {
  readonly runner: Pick<ScriptRunner, 'together'>
  readonly clock: Clock
  /** What this client holds. */
  readonly held: { isHeld(key: string): boolean }
}

/**
 * Callers that come back to a fair lock that their client has just had, while others of it wait, or have it. They go to
 * the end of the line together: a client passes the lock on to those who stand behind each other, and of callers that come
 * back one by one no two ever would. See docs/decisions/0032-passed-along-the-line.md.
 */
export class RejoinBatcher {
  /** Whose last hold ended longest ago comes first. */
  private readonly byLock = new Map<string, Rejoins>()

  constructor(private readonly parts: RejoinBatcherParts) {}

  /**
   * Sends a try that puts a new waiter in line: at once, or with others, should it come back.
   * @param waiting how many of this client wait, itself included
   */
  enter<T>(lockKey: string, waiting: number, send: () => Promise<T>): Promise<T> {
    const { clock, held } = this.parts
    const here = this.byLock.get(lockKey)
    const hasCompany = waiting > 1 || held.isHeld(lockKey)
    const comesBack = here && (here.isReleasing || (hasCompany && clock.now() < here.endedAt + RETURN_MS))
    // Who comes behind callers that wait here does not overtake them (I10).
    if (!here || !(comesBack || here.sends.length > 0)) {
      return send()
    }
    here.timer ??= clock.setTimer(RETURN_MS, () => this.sendAll(here))
    return new Promise((resolve) => here.sends.push(() => resolve(send())))
  }

  /** A hold has been passed on, monotonic ms. */
  passedOn(lockKey: string, at: number): void {
    this.at(lockKey).endedAt = at
  }

  /**
   * Sends a release. Where everybody who waits here has come back they stand in line again as soon as it is answered: with
   * whoever comes back last, and so that waiters of other clients need not wait for that.
   * @param waiting how many of this client wait, those who have come back included
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
    here.endedAt = this.parts.clock.now()
    this.byLock.delete(lockKey)
    this.forgetOld()
    this.byLock.set(lockKey, here)
    if (areAllBack) {
      afterThisTick(() => this.sendAll(here))
    }
  }

  private sendAll(here: Rejoins): void {
    const { sends } = here
    here.timer?.cancel()
    here.timer = null
    here.sends = []
    this.parts.runner.together(() => sends.forEach((send) => send()))
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

  /** Names are made of ids in many services: nothing stays of a lock that nobody comes back to (I8). */
  private forgetOld(): void {
    const longAgo = this.parts.clock.now() - RETURN_MS
    for (const [lockKey, { endedAt, isReleasing, sends }] of this.byLock) {
      if (endedAt > longAgo || isReleasing || sends.length > 0) {
        return
      }
      this.byLock.delete(lockKey)
    }
  }
}
