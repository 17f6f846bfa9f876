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

/** Tracks for a line whether its attempts get replies at all. "No reply" is neither a success nor a refusal. */
export class Availability {
  // Both are written only here.
  outage: Outage | undefined = undefined
  /** Some callers are past their deadline and wait only for the first reply. */
  someOverdue = false
  private answeredAt: number | undefined = undefined

  /** `onTooLong`: called when no attempt has got a reply for `toleranceMs` milliseconds. */
  constructor(
    private readonly clock: WaiterClock,
    private readonly toleranceMs: number,
    private readonly onTooLong: () => void,
  ) {}

  get unavailableTooLong(): boolean {
    return this.outage !== undefined && this.isTooLong(this.outage.since)
  }

  answered(): void {
    this.answeredAt = this.clock.now()
    this.forgetOutage()
  }

  /** `sentAt`: when the attempt began; there has been no reply since. */
  unanswered(sentAt: number, error: unknown): void {
    // The late failure of an attempt whose caller has gone may belong to an outage that is over.
    if (this.answeredAt !== undefined && sentAt < this.answeredAt) {
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

  /** Undefined: no attempt has completed yet, in any way. */
  outcomeAtDeadline(): WaitOutcome<never> | undefined {
    if (this.outage) {
      return { kind: 'unavailable', error: this.outage.error }
    }
    this.someOverdue ||= this.answeredAt === undefined
    return this.answeredAt === undefined ? undefined : { kind: 'timeout' }
  }

  /** Cancels the timer of an outage. */
  forgetOutage(): void {
    this.outage?.limit?.cancel()
    this.outage = undefined
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
