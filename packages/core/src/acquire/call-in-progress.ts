import type { Attempt, Ticket, WaitOutcome } from '@holdfast/waiter'
import type { Acquisition } from './acquisition.js'
import type { LevelRequest } from './levels.js'
import type { CallSite, Context, SiblingMutex } from '../context.js'
import type { CallPublication } from '../diagnostics/call-publication.js'
import type { AcquisitionPath } from '../diagnostics/messages.js'
import type { LockTimeoutError } from '../errors.js'
import type { Hold } from '../hold.js'
import type { LockProtocol } from '../protocols/lock-protocol.js'
import { isWorthRetrying } from '../redis/until-known.js'
import type { HeldReply } from '../scripts/lock.js'

export interface Held {
  readonly kind: 'held'
  readonly path: AcquisitionPath
  readonly hold: Hold
  readonly acquisition: Acquisition
  /** To be ended with the hold: the siblings' turn to re-enter. */
  readonly siblingMutex: SiblingMutex | null
}

/** Somebody else has it. */
export interface Busy {
  readonly kind: 'busy'
  readonly error: () => LockTimeoutError
}

/** No hold yet: the call looks again at what encloses it, or the lease expired before the reply arrived. */
export type NotYet = 'look-again' | 'expired-on-arrival'

/** What is used of an `AsyncResource`, whose type a user of this package need not have. */
export interface AsyncContext {
  runInAsyncScope<R>(run: () => R): R
}

/** A call for several locks, as one of its parts sees it. */
export interface WholeCall {
  /** What a part may have in Redis, although its caller has left, is being given back: it may be waited for. */
  givesBack(work: Promise<unknown>): void
}

/** A call for a lock, as `Contention` and `Reentry` see it: its limits, and whom they tell what came of it. */
export interface CallInProgress<T = unknown> extends LevelRequest {
  readonly protocol: LockProtocol
  /** Null outside any context. */
  readonly place: CallSite | null
  /** The call for several locks that it is a part of. */
  readonly whole: WholeCall | undefined
  readonly signal: AbortSignal | undefined
  /** How long it still waits, ms. 0 stays 0, exactly one attempt; a wait that has begun does not become one. */
  readonly timeoutMs: number
  /** Null: nobody subscribes. */
  readonly publication: CallPublication | null
  /** The caller's own context, for subscribers: exporters ask what span is active. Null: nobody subscribes. */
  readonly observer: AsyncContext | null
  /**
   * The context that an acquisition for it belongs to. Outside any the callback of a `withLock` gets one of its own, so
   * that what is called from inside it re-enters.
   */
  contextToHold(): Context | null
  /** It has to wait. */
  parked(ticket: Ticket<unknown>): void
  /** Somebody else has the lock, or comes first. */
  refused(reply: HeldReply): void
  /** The wait ended without a yes: somebody else has it, or nobody can tell, which is thrown. */
  giveUp(outcome: WaitOutcome<unknown>): Busy
  /** It has come to something. */
  settled(obtained: Held | Busy | NotYet): T | Promise<T>
  /** It ends without a hold, and not because somebody else has the lock. */
  failed(error: unknown): never
}

/** An attempt that failed: no answer yet, or an error of its caller's. */
export function unavailableOrThrow(error: unknown): Attempt<never> {
  if (isWorthRetrying(error)) {
    return { kind: 'unavailable', error }
  }
  throw error
}

/** Whatever a late or unanswered command of the call may have done in Redis is undone. */
export function giveBack(acquisition: Acquisition | null, call: CallInProgress): void {
  const work = acquisition?.giveBack()
  if (work) {
    call.whole?.givesBack(work)
  }
}
