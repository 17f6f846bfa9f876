import type { Ticket } from '@holdfast/waiter'
import type { EventHub, LockEvents } from '../events.js'
import { SoonestTimer } from '../runtime/soonest-timer.js'
import type { Clock } from '../runtime/time.js'

export type WaitFacts = Pick<LockEvents['waiting'], 'holder' | 'placeInLine'>

/** A call that waits. It is told of once, however often it is parked. */
export interface ReportedWait {
  readonly lockName: string
  /** When the call began, on the client's clock. */
  readonly startedAt: number
  /** What is known when it is told of. */
  explain?(): WaitFacts
}

interface Pending {
  readonly dueAt: number
  readonly ticket: Pick<Ticket<unknown>, 'ahead'>
}

/** Tells of callers that wait, each when it has waited for so long, with one timer for all of them. */
export class WaitReporter {
  /** In the order in which they are due: all wait for the same time before they are told of. */
  private readonly pending = new Map<ReportedWait, Pending>()
  private readonly timer: SoonestTimer

  constructor(
    private readonly events: EventHub,
    private readonly clock: Clock,
    private readonly thresholdMs: number,
    /** Runs before listeners hear of what a timer brought. */
    private readonly beforeResume: () => void,
  ) {
    this.timer = new SoonestTimer(clock, () => this.tellDue())
  }

  /** It sleeps, or stands behind others. Who listens only later hears of waits that begin then. */
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

  /** Whatever came of it. */
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
    const facts = wait.explain?.() ?? { holder: undefined, placeInLine: undefined }
    const waitedMs = this.clock.now() - wait.startedAt
    this.events.emit('waiting', { lockName: wait.lockName, waitedMs, aheadHere, ...facts })
  }
}
