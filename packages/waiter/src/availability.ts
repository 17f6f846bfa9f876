import type { WaiterClock } from './clock.js'
import { Deadline } from './deadline.js'
import type { WaitOutcome } from './wait-request.js'

/** Tracks for a line whether its attempts get replies at all. "No reply" is neither a success nor a refusal. */
export class Availability {
  /** Attempts without a reply since the last reply. */
  failures = 0
  /** The error of the latest of them. */
  error: unknown = undefined
  private answeredAt: number | undefined = undefined
  private unavailableSince: number | undefined = undefined
  private limit: Deadline | undefined = undefined

  /** `onTooLong`: called when no attempt has got a reply for `toleranceMs` milliseconds. */
  constructor(
    private readonly clock: WaiterClock,
    private readonly toleranceMs: number,
    private readonly onTooLong: () => void,
  ) {}

  get unavailableTooLong(): boolean {
    if (this.unavailableSince === undefined) {
      return false
    }
    return this.clock.now() >= this.unavailableSince + this.toleranceMs
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
    this.failures += 1
    this.error = error
    if (this.unavailableSince === undefined) {
      this.beginOutage(sentAt)
    }
    if (this.unavailableTooLong) {
      this.onTooLong()
    }
  }

  /** Undefined: no attempt has completed yet, in any way. */
  outcomeAtDeadline(): WaitOutcome<never> | undefined {
    if (this.unavailableSince !== undefined) {
      return { kind: 'unavailable', error: this.error }
    }
    return this.answeredAt === undefined ? undefined : { kind: 'timeout' }
  }

  /** Cancels the timer of an outage. */
  forgetOutage(): void {
    this.limit?.cancel()
    this.limit = undefined
    this.unavailableSince = undefined
    this.failures = 0
    this.error = undefined
  }

  private beginOutage(since: number): void {
    this.unavailableSince = since
    // A timer, because the limit must end waits even while an attempt hangs.
    if (this.toleranceMs === Infinity || this.unavailableTooLong) {
      return
    }
    this.limit = new Deadline(this.clock, since + this.toleranceMs, this.onTooLong)
  }
}
