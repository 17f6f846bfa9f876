import type { WaiterClock } from './clock.js'
import { Deadline } from './deadline.js'
import type { WaitOutcome } from './wait-request.js'

/** No attempt gets a reply. */
interface Outage {
  /** When the first attempt without a reply was sent, monotonic ms. */
  readonly since: number
  /** Attempts without a reply since the last reply. */
  readonly failures: number
  /** The error of the latest of them. */
  readonly error: unknown
  readonly limit: Deadline | undefined
}

/** The latest reply of Redis, whatever it says. */
interface LatestAnswer {
  /** Monotonic ms. */
  readonly at: number
  /** It, or one before, was no success that the next caller may have too. */
  readonly isToldNo: boolean
}

/** Tracks for a line whether its attempts get replies at all. "No reply" is neither a success nor a refusal. */
export class Availability {
  // Both are written only here.
  outage: Outage | undefined = undefined
  /** Some callers are past their deadline and wait only for the first reply that may be a no to them. */
  someOverdue = false
  private answer: LatestAnswer | undefined = undefined

  /** `onTooLong`: called when no attempt has got a reply for `toleranceMs` milliseconds. */
  constructor(
    private readonly clock: WaiterClock,
    private readonly toleranceMs: number,
    private readonly onTooLong: () => void,
  ) {}

  get unavailableTooLong(): boolean {
    return this.outage !== undefined && this.isTooLong(this.outage.since)
  }

  /** `isNo`: not a success that the next caller may have too. */
  answered(isNo: boolean): void {
    this.answer = { at: this.clock.now(), isToldNo: isNo || this.isToldNo }
    this.forgetOutage()
  }

  /** `sentAt`: when the attempt began; there has been no reply since. */
  unanswered(sentAt: number, error: unknown): void {
    // The late failure of an attempt whose caller has gone may belong to an outage that is over.
    if (this.answer && sentAt < this.answer.at) {
      return
    }
    const { since, failures, limit } = this.outage ?? {
      since: sentAt,
      failures: 0,
      limit: this.limitOf(sentAt),
    }
    this.outage = { since, failures: failures + 1, error, limit }
    if (this.unavailableTooLong) {
      this.onTooLong()
    }
  }

  /** Undefined: no attempt has been refused yet, and none has failed. */
  outcomeAtDeadline(): WaitOutcome<never> | undefined {
    if (this.outage) {
      return { kind: 'unavailable', error: this.outage.error }
    }
    this.someOverdue ||= !this.isToldNo
    return this.isToldNo ? { kind: 'timeout' } : undefined
  }

  /** Cancels the timer of an outage. */
  forgetOutage(): void {
    this.outage?.limit?.cancel()
    this.outage = undefined
  }

  private get isToldNo(): boolean {
    return this.answer?.isToldNo ?? false
  }

  private isTooLong(since: number): boolean {
    return this.clock.now() >= since + this.toleranceMs
  }

  /** A timer, because the limit must end waits even while an attempt hangs. */
  private limitOf(since: number): Deadline | undefined {
    return this.toleranceMs === Infinity || this.isTooLong(since)
      ? undefined
      : new Deadline(this.clock, since + this.toleranceMs, this.onTooLong)
  }
}
