import { longestDelayMs, type Timer } from './clock.js'
import type { LineSetting } from './line-setting.js'
import type { WaitOutcome } from './wait-request.js'

/** No attempt gets a reply. */
interface Outage {
  /** Attempts without a reply since the last reply. */
  readonly failures: number
  /** The error of the latest of them. */
  readonly error: unknown
  readonly limit: Timer | undefined
  /** Its limit has passed, and what had arrived by then was read. */
  readonly isTooLong: boolean
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

  /** `onTooLong`: called when no attempt has got a reply for `unavailableTimeoutMs`. */
  constructor(
    private readonly setting: Pick<LineSetting, 'clock' | 'afterAnswers' | 'unavailableTimeoutMs'>,
    private readonly onTooLong: () => void,
  ) {}

  get unavailableTooLong(): boolean {
    return this.outage?.isTooLong === true
  }

  /** `isNo`: not a success that the next caller may have too. */
  answered(isNo: boolean): void {
    this.answer = { at: this.setting.clock.now(), isToldNo: isNo || this.isToldNo }
    this.forgetOutage()
  }

  /** `sentAt`: when the attempt began; there has been no reply since. */
  unanswered(sentAt: number, error: unknown): void {
    // The late failure of an attempt whose caller has gone may belong to an outage that is over.
    if (this.answer && sentAt < this.answer.at) {
      return
    }
    const { failures, ...before } = this.outage ?? { failures: 0, ...this.limitFrom(sentAt) }
    this.outage = { ...before, failures: failures + 1, error }
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

  /** A timer, because the limit must end waits even while an attempt hangs. */
  private limitFrom(sentAt: number): Pick<Outage, 'limit' | 'isTooLong'> {
    const { clock, unavailableTimeoutMs } = this.setting
    const leftMs = sentAt + unavailableTimeoutMs - clock.now()
    return leftMs > 0 && leftMs <= longestDelayMs
      ? { limit: this.setting.afterAnswers(leftMs, () => this.passed()), isTooLong: false }
      : { limit: undefined, isTooLong: leftMs <= 0 }
  }

  private passed(): void {
    if (this.outage) {
      this.outage = { ...this.outage, isTooLong: true }
      this.onTooLong()
    }
  }
}
