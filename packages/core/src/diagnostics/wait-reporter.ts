import type { Place } from '@holdfast/waiter'
import type { EventHub, LockEvents } from '../events.js'
import { FixedDelayQueue } from '../runtime/fixed-delay-queue.js'
import type { Clock } from '../runtime/runtime.js'
import { EndlessWaits } from './endless-waits.js'

export type WaitFacts = Pick<LockEvents['waiting'], 'holder' | 'placeInLine'> &
  Partial<Pick<LockEvents['waiting'], 'permits'>>

/** A waiting call. Reported once, however often it is parked. */
export interface ReportedWait {
  readonly lockName: string
  /** When the call began, on the client's clock. */
  readonly startedAt: number
  /** It waits without a limit that was asked for. */
  readonly isUnlimited: boolean
  /** A kind of thing, if it is no lock. */
  readonly what?: string
  /** The facts at the time of the report. */
  explain?(): WaitFacts
}

const NO_FACTS: WaitFacts = { holder: undefined, placeInLine: undefined }

export type Position = Pick<Place<unknown>, 'ahead'>

/** Reports waiting callers, each after the threshold, with one timer for all of them. */
export class WaitReporter {
  private readonly pending: FixedDelayQueue<ReportedWait, Position>
  /** Also of waits that are none for a lock or permits, which no event tells of. */
  readonly endless: EndlessWaits

  constructor(
    private readonly events: EventHub,
    private readonly clock: Clock,
    private readonly thresholdMs: number,
    /** Runs before listeners are called from the timer. */
    beforeResume: () => void,
  ) {
    this.endless = new EndlessWaits(clock)
    this.pending = new FixedDelayQueue(clock, {
      delayMs: thresholdMs,
      beforeDue: beforeResume,
      due: (wait, place) => this.tell(wait, place),
    })
  }

  /** The call sleeps, or is queued behind others. A listener added later sees only waits that begin after that. */
  parked(wait: ReportedWait, place: Position): void {
    this.events.observer?.waitParked(wait)
    if (wait.isUnlimited) {
      this.endless.parked(wait)
    }
    if (!this.events.hasListeners('waiting')) {
      return
    }
    if (this.thresholdMs === 0) {
      this.tell(wait, place)
    } else {
      this.pending.add(wait, place)
    }
  }

  /** The wait has ended, with any outcome. */
  ended(wait: ReportedWait): void {
    this.events.observer?.waitEnded(wait)
    this.pending.remove(wait)
    this.endless.ended(wait)
  }

  close(): void {
    this.endless.close()
  }

  private tell(wait: ReportedWait, { ahead: aheadHere }: Position): void {
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
