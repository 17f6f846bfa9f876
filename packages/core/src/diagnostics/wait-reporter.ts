import type { Ticket } from '@holdfast/waiter'
import type { EventHub, LockEvents } from '../events.js'
import { SoonestTimer } from '../runtime/soonest-timer.js'
import type { Clock } from '../runtime/runtime.js'

export type WaitFacts = Pick<LockEvents['waiting'], 'holder' | 'placeInLine'> &
  Partial<Pick<LockEvents['waiting'], 'permits'>>

/** A waiting call. Reported once, however often it is parked. */
export interface ReportedWait {
  readonly lockName: string
  /** When the call began, on the client's clock. */
  readonly startedAt: number
  /** The facts at the time of the report. */
  explain?(): WaitFacts
}

const NO_FACTS: WaitFacts = { holder: undefined, placeInLine: undefined }

interface Pending {
  readonly dueAt: number
  readonly ticket: Pick<Ticket<unknown>, 'ahead'>
}

/** Reports waiting callers, each after the threshold, with one timer for all of them. */
export class WaitReporter {
  /** In order of due time: the threshold is the same for all. */
  private readonly pending = new Map<ReportedWait, Pending>()
  private readonly timer: SoonestTimer

  constructor(
    private readonly events: EventHub,
    private readonly clock: Clock,
    private readonly thresholdMs: number,
    /** Runs before listeners are called from the timer. */
    private readonly beforeResume: () => void,
  ) {
    this.timer = new SoonestTimer(clock, () => this.tellDue())
  }

  /** The call sleeps, or is queued behind others. A listener added later sees only waits that begin after that. */
  parked(wait: ReportedWait, ticket: Pick<Ticket<unknown>, 'ahead'>): void {
    if (!this.events.hasListeners('waiting')) {
      return
    }
    if (this.thresholdMs === 0) {
      this.tell(wait, ticket)
    } else {
      this.pending.set(wait, { ticket, dueAt: this.clock.now() + this.thresholdMs })
      this.timer.within(this.thresholdMs)
    }
  }

  /** The wait has ended, with any outcome. */
  ended(wait: ReportedWait): void {
    if (this.pending.delete(wait) && this.pending.size === 0) {
      this.timer.cancel()
    }
  }

  private tellDue(): void {
    this.beforeResume()
    const now = this.clock.now()
    for (const [wait, { dueAt, ticket }] of this.pending) {
      if (dueAt > now) {
        this.timer.within(dueAt - now)
        return
      }
      this.pending.delete(wait)
      this.tell(wait, ticket)
    }
  }

  private tell(wait: ReportedWait, { ahead: aheadHere }: Pending['ticket']): void {
    const facts = wait.explain?.() ?? NO_FACTS
    const waitedMs = this.clock.now() - wait.startedAt
    const { holder, placeInLine, permits } = facts
    this.events.emit('waiting', {
      lockName: wait.lockName,
      holder,
      waitedMs,
      placeInLine,
      aheadHere,
      permits,
    })
  }
}
