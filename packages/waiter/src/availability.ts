import type { WaiterClock } from './clock.js'
import { Deadline } from './deadline.js'
import type { WaitOutcome } from './wait-request.js'

/** What a line knows about whether its attempts are answered at all. "No answer" is neither yes nor no. */
export class Availability {
  /** Attempts without an answer since the last answer. */
  failures = 0
  /** What the latest of them reported. */
  error: unknown = undefined
  private answeredAt: number | undefined = undefined
  private unavailableSince: number | undefined = undefined
  private limit: Deadline | undefined = undefined

  /** `onTooLong`: nobody has answered for `toleranceMs` milliseconds. */
  constructor(
    private readonly clock: WaiterClock,
    private readonly toleranceMs: number,
    private readonly onTooLong: () => void,
  ) {}

  get unavailableTooLong(): boolean {
    if (this.unavailableSince === undefined) return false
    return this.clock.now() >= this.unavailableSince + this.toleranceMs
  }

  answered(): void {
    this.answeredAt = this.clock.now()
    this.forgetOutage()
  }

  /** `sentAt`: when the attempt that brought no answer began; nobody has answered since then. */
  unanswered(sentAt: number, error: unknown): void {
    // The late report of an attempt whose caller has gone may be about an outage that is over.
    if (this.answeredAt !== undefined && sentAt < this.answeredAt) return
    this.failures += 1
    this.error = error
    if (this.unavailableSince === undefined) this.beginOutage(sentAt)
    if (this.unavailableTooLong) this.onTooLong()
  }

  /** Undefined: nobody has been answered yet, neither yes, no nor "no answer". */
  outcomeAtDeadline(): WaitOutcome<never> | undefined {
    if (this.unavailableSince !== undefined) return { kind: 'unavailable', error: this.error }
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
    // A timer, because the limit must end waits also while an attempt hangs.
    if (this.toleranceMs === Infinity || this.unavailableTooLong) return
    this.limit = new Deadline(this.clock, since + this.toleranceMs, this.onTooLong)
  }
}
