import type { LockHolder } from '../lock-holder.js'
import type { Session } from '../session.js'
import { calls } from './channels.js'
import type { AcquisitionPath, CallOutcome, LockKind, ObservedCall } from './messages.js'

/** What is asked for. */
export interface Wanted {
  readonly lockName: string
  readonly kind: LockKind
}

/** What is known of its end. */
export interface CallEnd {
  readonly path?: AcquisitionPath
  /** Who had it when this client was last told, whichever of its calls was. */
  readonly holder?: LockHolder | undefined
  readonly error?: unknown
}

/** One call as it is published. It is the message itself: most calls are over before a second object had paid off. */
export class CallPublication implements ObservedCall {
  phase: 'begun' | 'parked' | 'ended' = 'begun'
  readonly lockName: string
  readonly kind: LockKind
  readonly clientId: string
  hasWaited = false
  holder: LockHolder | undefined = undefined
  outcome: CallOutcome | undefined = undefined
  path: AcquisitionPath | undefined = undefined
  waitedMs: number | undefined = undefined
  handOffMs: number | undefined = undefined
  error: unknown = undefined
  readonly #session: Pick<Session, 'clientId' | 'clock'>
  readonly #startedAt: number
  #wokenAt: number | null = null
  /** The wake-up that the try under way came after. */
  #answering: number | null = null
  #handedOffMs: number | undefined = undefined

  constructor(session: Pick<Session, 'clientId' | 'clock'>, { lockName, kind }: Wanted) {
    this.#session = session
    this.#startedAt = session.clock.now()
    this.lockName = lockName
    this.kind = kind
    this.clientId = session.clientId
    calls.publish(this)
  }

  /** Once: a call may stand in line again, when what it got was of no use. */
  parked(holder: LockHolder | undefined): void {
    if (this.hasWaited) {
      return
    }
    this.phase = 'parked'
    this.hasWaited = true
    this.holder = holder
    calls.publish(this)
  }

  /** Something says that a try may succeed now. */
  woken(): void {
    this.#wokenAt = this.#session.clock.now()
  }

  /** A try is sent. */
  trying(): void {
    this.#answering = this.#wokenAt
  }

  /** In vain: the next wake-up is another one, unless it has come meanwhile. */
  refused(): void {
    if (this.#wokenAt === this.#answering) {
      this.#wokenAt = null
    }
  }

  /** A try succeeded. */
  succeeded(): void {
    if (this.#answering !== null) {
      this.#handedOffMs = this.#session.clock.now() - this.#answering
    }
  }

  /** It was passed on by its former holder, who released it just now. */
  handedOver(): void {
    this.#handedOffMs = 0
  }

  /** @param signal of the call */
  failed(error: unknown, signal: AbortSignal | undefined): void {
    const isAborted = signal?.aborted === true && error === signal.reason
    this.ended(isAborted ? 'aborted' : 'error', { error })
  }

  ended(outcome: CallOutcome, { path, holder, error }: CallEnd): void {
    this.phase = 'ended'
    this.outcome = outcome
    this.path = path
    if (this.hasWaited || outcome === 'timeout') {
      this.holder = holder ?? this.holder
    }
    this.error = error
    this.waitedMs = this.#session.clock.now() - this.#startedAt
    this.handOffMs = outcome === 'acquired' ? this.#handedOffMs : undefined
    calls.publish(this)
  }
}

/** Null where nobody subscribes. */
export function publishCall(
  session: Pick<Session, 'clientId' | 'clock'>,
  wanted: Wanted,
): CallPublication | null {
  return calls.hasSubscribers ? new CallPublication(session, wanted) : null
}
