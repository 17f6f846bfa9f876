import type { ScriptRunner } from '../redis/script-runner.js'
import { SoonestTimer } from '../runtime/soonest-timer.js'
import type { Clock } from '../runtime/runtime.js'

/** A kind of lock that a release grants to a waiter. */
export interface GrantedLock {
  readonly key: string
  /**
   * If the lock is free, wakes its waiters.
   * @returns ms after which to look again, because it was granted to the next waiter; 0: no need
   */
  lookAgain(): Promise<number>
}

interface GrantedLocksParts {
  readonly runner: Pick<ScriptRunner, 'keepTogether'>
  readonly clock: Clock
  /** Pause before a second look when the first got no reply, ms. */
  readonly pauseMs: number
  /** How long to retry, ms: after that no Java client still sleeps on a lease that it was told before the grant. */
  readonly patienceMs: number
  /** The longest grant of a plain lock, ms. */
  readonly longestMs: number
}

interface Watched {
  readonly lock: GrantedLock
  readonly dueAt: number
  readonly giveUpAt: number
}

// Redis expires keys with a precision of 1 ms, and its clock and the process's drift.
const AFTER_THE_END_MS = 20
// One batch for all that are due by then: a service may grant thousands of locks a second.
const TOGETHER_MS = 100

/**
 * Locks that releases of this client granted to a waiter instead of announcing them as free. A stopped waiter
 * (SIGSTOP, a power failure) still has an open connection as far as Redis knows, and never uses the grant. Holdfast
 * waiters detect that themselves; a Java client sleeps until the end of the lease that its last try reported. So when
 * a grant has expired, the client that made it checks whether the lock is free. See
 * docs/decisions/0035-a-grant-that-nobody-took.md.
 */
export class GrantedLocks {
  private readonly byKey = new Map<string, Watched>()
  private readonly timer: SoonestTimer
  private isClosed = false

  constructor(private readonly parts: GrantedLocksParts) {
    this.timer = new SoonestTimer(parts.clock, () => this.lookAtDue())
  }

  /** @param forMs how long the grant lasts; by default, as long as that of a plain lock can */
  watch(lock: GrantedLock, forMs = this.parts.longestMs): void {
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
    this.parts.runner.keepTogether()
    due.forEach((each) => void this.lookAt(each))
  }

  private async lookAt({ lock, giveUpAt }: Watched): Promise<void> {
    const { clock, pauseMs } = this.parts
    try {
      const again = await lock.lookAgain()
      // A later release has granted it anew and is watched already.
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
