import type { LockHolder } from '../lock-holder.js'
import type { Clock } from '../runtime/runtime.js'
import { callBegun, callEnded, callParked } from './channels.js'
import type { AcquisitionPath, CallOutcome, LockKind, ObservedCall } from './messages.js'

/** The lock a call is for. */
export interface RequestedHold {
  readonly lockName: string
  readonly kind: LockKind
}

/**
 * One call as it is published. It is itself the message: most calls end before a second object would pay off. It
 * reads no clock: its callers have mostly read one already.
 */
export class CallPublication implements ObservedCall {
  phase: 'begun' | 'parked' | 'ended' = 'begun'
  hasWaited = false
  holder: LockHolder | undefined = undefined
  outcome: CallOutcome | undefined = undefined
  path: AcquisitionPath | undefined = undefined
  waitedMs: number | undefined = undefined
  handOffMs: number | undefined = undefined
  error: unknown = undefined
  private wokenAt: number | null = null
  /** The wake-up that caused the try under way. */
  private answering: number | null = null

  constructor(
    readonly lockName: string,
    readonly kind: LockKind,
    readonly clientId: string,
    private readonly startedAt: number,
  ) {}

  begun(): void {
    callBegun.publish(this)
  }

  /** Published once: a call may be parked again when its grant was unusable. */
  parked(holder: LockHolder | undefined): void {
    if (this.hasWaited) {
      return
    }
    this.phase = 'parked'
    this.hasWaited = true
    this.holder = holder
    callParked.publish(this)
  }

  /** An event suggests that a try may succeed now. */
  woken(now: number): void {
    this.wokenAt = now
  }

  /** A try is sent. */
  trying(): void {
    this.answering = this.wokenAt
    this.path = undefined
  }

  /** The try was refused: its wake-up is used up, unless another has arrived meanwhile. */
  refused(): void {
    if (this.wokenAt === this.answering) {
      this.wokenAt = null
    }
  }

  /** A try succeeded. */
  succeeded(clock: Clock): void {
    if (this.answering !== null) {
      this.handOffMs = clock.now() - this.answering
    }
  }

  /** The previous holder has just released the lock to this caller, without a try of it. */
  passedOn(path: AcquisitionPath): void {
    this.path = path
    this.handOffMs = 0
  }

  /** It has a level of what its context held. */
  reentered(): void {
    this.path = 'reentrant'
  }

  /** @param holder the holder as last reported to any call of this client */
  acquired(path: AcquisitionPath, holder: LockHolder | undefined, now: number): void {
    this.path = path
    if (this.hasWaited) {
      this.holder = holder ?? this.holder
    }
    this.ended('acquired', now)
  }

  /** @param holder as for `acquired` */
  timedOut(holder: LockHolder | undefined, now: number): void {
    this.holder = holder ?? this.holder
    this.gotNothing('timeout', now)
  }

  /** @param signal the call's signal */
  failed(error: unknown, signal: AbortSignal | undefined, now: number): void {
    const isAborted = signal?.aborted === true && error === signal.reason
    this.error = error
    this.gotNothing(isAborted ? 'aborted' : 'error', now)
  }

  private gotNothing(outcome: CallOutcome, now: number): void {
    this.path = undefined
    this.handOffMs = undefined
    this.ended(outcome, now)
  }

  private ended(outcome: CallOutcome, now: number): void {
    this.phase = 'ended'
    this.outcome = outcome
    this.waitedMs = now - this.startedAt
    callEnded.publish(this)
  }
}
