import type { ScriptRunner } from '../redis/script-runner.js'
import { SoonestTimer } from '../runtime/soonest-timer.js'
import type { Clock } from '../runtime/time.js'

/** A kind of lock that a release gives to a waiter. */
export interface GrantedLock {
  readonly key: string
  /**
   * Should it be free, those who wait for it are told so.
   * @returns ms after which it is worth another look, because it was given to the next one; 0: it is not
   */
  lookAgain(): Promise<number>
}

export interface GrantedLocksParts {
  readonly runner: Pick<ScriptRunner, 'together'>
  readonly clock: Clock
  /** Between two looks of which the first had no answer, ms. */
  readonly pauseMs: number
  /** So long after the first look no client of Java sleeps any more on what the last release should have told it, ms. */
  readonly patienceMs: number
}

interface Watched {
  readonly lock: GrantedLock
  readonly dueAt: number
  readonly giveUpAt: number
}

// Redis ends a key within the millisecond, its clock and that of this process do not run alike.
const AFTER_THE_END_MS = 20
// One look for all that are due by then: a service may give away thousands of locks a second.
const TOGETHER_MS = 100

/**
 * Locks that releases of this client gave to waiters instead of telling everybody that they are free. A waiter that is
 * stopped (SIGSTOP, a machine that lost its power) has an open connection as far as Redis knows, and never uses what it
 * was given. Waiters of Holdfast find that out by themselves; a Java client sleeps until the end of the lease that it was
 * told of when it tried last. So once what was given is over, the client that gave it looks whether the lock is free.
 * See docs/decisions/0035-a-grant-that-nobody-took.md.
 */
export class GrantedLocks {
  private readonly byKey = new Map<string, Watched>()
  private readonly timer: SoonestTimer
  private isClosed = false

  constructor(private readonly parts: GrantedLocksParts) {
    this.timer = new SoonestTimer(parts.clock, () => this.lookAtDue())
  }

  /** @param forMs how long it is given */
  watch(lock: GrantedLock, forMs: number): void {
    const dueAt = this.parts.clock.now() + forMs + AFTER_THE_END_MS
    this.add({ lock, dueAt, giveUpAt: dueAt + this.parts.patienceMs })
  }

  close(): void {
    this.isClosed = true
    this.timer.cancel()
    this.byKey.clear()
  }

  private add(watched: Watched): void {
    if (!this.isClosed) {
      this.byKey.set(watched.lock.key, watched)
      this.timer.within(watched.dueAt - this.parts.clock.now())
    }
  }

  private lookAtDue(): void {
    const now = this.parts.clock.now()
    const due: Watched[] = []
    let next = Number.POSITIVE_INFINITY
    for (const watched of this.byKey.values()) {
      if (watched.dueAt <= now) {
        due.push(watched)
      } else {
        next = Math.min(next, watched.dueAt)
      }
    }
    due.forEach(({ lock }) => this.byKey.delete(lock.key))
    if (next < Number.POSITIVE_INFINITY) {
      this.timer.within(Math.max(next - now, TOGETHER_MS))
    }
    this.parts.runner.together(() => due.forEach((each) => void this.lookAt(each)))
  }

  private async lookAt({ lock, giveUpAt }: Watched): Promise<void> {
    const { clock, pauseMs } = this.parts
    try {
      const again = await lock.lookAgain()
      // A release meanwhile has given it anew, and is waited for.
      if (again > 0 && !this.byKey.has(lock.key)) {
        this.watch(lock, again)
      }
    } catch {
      if (clock.now() < giveUpAt && !this.byKey.has(lock.key)) {
        this.add({ lock, dueAt: clock.now() + pauseMs, giveUpAt })
      }
    }
  }
}
