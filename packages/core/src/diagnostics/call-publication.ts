import type { LockHolder } from '../lock-holder.js'
import type { Clock } from '../runtime/time.js'
import { callBegun, callEnded, callParked } from './channels.js'
import type { AcquisitionPath, CallOutcome, LockKind, ObservedCall } from './messages.js'

/** What is asked for. */
export interface RequestedHold {
  readonly lockName: string
  readonly kind: LockKind
}

/**
 * One call as it is published. It is the message itself: most calls are over before a second object had paid off. It
 * reads no clock: who tells it something has mostly read one, for work of its own.
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
  /** The wake-up that the try under way came after. */
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

  /** Once: a call may stand in line again, when what it got was of no use. */
  parked(holder: LockHolder | undefined): void {
    if (this.hasWaited) {
      return
    }
    this.phase = 'parked'
    this.hasWaited = true
    this.holder = holder
    callParked.publish(this)
  }

  /** Something says that a try may succeed now. */
  woken(now: number): void {
    this.wokenAt = now
  }

  /** A try is sent. */
  trying(): void {
    this.answering = this.wokenAt
  }

  /** In vain: the next wake-up is another one, unless it has come meanwhile. */
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

  /** It was passed on by its former holder, who released it just now. */
  handedOver(): void {
    this.handOffMs = 0
  }

  /** @param holder who had it when this client was last told, whichever of its calls was */
  acquired(path: AcquisitionPath, holder: LockHolder | undefined, now: number): void {
    this.path = path
    if (this.hasWaited) {
      this.holder = holder ?? this.holder
    }
    this.ended('acquired', now)
  }

  /** @param holder as above */
  timedOut(holder: LockHolder | undefined, now: number): void {
    this.holder = holder ?? this.holder
    this.handOffMs = undefined
    this.ended('timeout', now)
  }

  /** @param signal of the call */
  failed(error: unknown, signal: AbortSignal | undefined, now: number): void {
    const isAborted = signal?.aborted === true && error === signal.reason
    this.error = error
    this.handOffMs = undefined
    this.ended(isAborted ? 'aborted' : 'error', now)
  }

  private ended(outcome: CallOutcome, now: number): void {
    this.phase = 'ended'
    this.outcome = outcome
    this.waitedMs = now - this.startedAt
    callEnded.publish(this)
  }
}

/** Whether anybody hears what becomes of a call that begins now. */
export function isCallSeen(): boolean {
  return callEnded.hasSubscribers || callBegun.hasSubscribers || callParked.hasSubscribers
}

/** Of a call that begins. Null where nobody subscribes. */
export function publishCall(
  { clientId }: { readonly clientId: string },
  { lockName, kind }: RequestedHold,
  startedAt: number,
): CallPublication | null {
  if (!isCallSeen()) {
    return null
  }
  const publication = new CallPublication(lockName, kind, clientId, startedAt)
  publication.begun()
  return publication
}
