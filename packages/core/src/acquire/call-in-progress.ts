import type { Attempt, Place, WaitOutcome } from '@holdfast/waiter'
import type { Acquisition } from './acquisition.js'
import type { LevelRequest } from './levels.js'
import type { CallSite, Context, SiblingMutex } from '../context/context.js'
import type { CallPublication } from '../diagnostics/call-publication.js'
import type { AcquisitionPath } from '../diagnostics/messages.js'
import type { LockTimeoutError } from '../errors.js'
import type { Hold } from '../hold.js'
import type { LockProtocol } from '../kinds/lock-protocol.js'
import { isWorthRetrying } from '../redis/until-known.js'
import type { HeldReply } from '../scripts/acquire-reply.js'

export interface Held {
  readonly kind: 'held'
  readonly path: AcquisitionPath
  readonly hold: Hold
  readonly acquisition: Acquisition
  /** Released together with the hold: the mutex under which siblings re-enter. */
  readonly siblingMutex: SiblingMutex | null
}

/** Another owner holds the lock. */
export interface Busy {
  readonly kind: 'busy'
  readonly error: () => LockTimeoutError
}

/** No hold yet: re-evaluate the enclosing context, or the lease expired before the reply arrived. */
export type NotYet = 'look-again' | 'expired-on-arrival'

/** The part of `AsyncResource` used here: users need not have Node's types. */
export interface AsyncContext {
  runInAsyncScope<R>(run: () => R): R
}

/** A call for several locks, as one of its parts sees it. */
export interface WholeCall {
  /** A part whose caller has left is releasing the hold that it may have in Redis; the whole call may wait for that. */
  undoes(work: Promise<unknown>): void
  /** A part has to wait. */
  parked(): void
}

/** A call for a lock, as `Contention` and `Reentry` see it: its limits, and where to report the outcome. */
export interface CallInProgress<T = unknown> extends LevelRequest {
  readonly protocol: LockProtocol
  /** Null outside any context. */
  readonly site: CallSite | null
  /** The call for several locks that this one is part of. */
  readonly whole: WholeCall | undefined
  readonly signal: AbortSignal | undefined
  /** Time left to wait, ms. 0 stays 0, exactly one attempt; a wait that has begun never becomes 0. */
  readonly timeoutMs: number
  readonly startedAt: number
  /** Time since the call began, ms. */
  readonly waitedMs: number
  /** Null without subscribers. */
  readonly publication: CallPublication | null
  /** The caller's own async context, for subscribers: exporters ask for the active span. Null without subscribers. */
  readonly observer: AsyncContext | null
  /**
   * The context that owns an acquisition of this call. Outside any context the callback of a `withLock` gets a new
   * one, so that calls inside it re-enter.
   */
  contextToHold(): Context | null
  /** The call has to wait. */
  parked(place: Place<unknown>): void
  /** Another owner holds the lock, or is ahead in the queue. */
  refused(reply: HeldReply): void
  /** The wait ended without success: another owner holds the lock, or the outcome is unknown, which is thrown. */
  giveUp(outcome: WaitOutcome<unknown>): Busy
  /** The call has a result. */
  settled(obtained: Held | Busy | NotYet): T | Promise<T>
  /** The call failed for a reason other than another holder. */
  failed(error: unknown): never
}

/** A failed attempt: no reply yet, or an error for its caller. */
export function unavailableOrThrow(error: unknown): Attempt<never> {
  if (isWorthRetrying(error)) {
    return { kind: 'unavailable', error }
  }
  throw error
}

/** Undoes what a late or unanswered command of the call may have done in Redis. */
export function undoLate(acquisition: Acquisition | null, call: CallInProgress): void {
  const work = acquisition?.undo()
  if (work) {
    call.whole?.undoes(work)
  }
}
