import type { LossReason } from '../errors.js'
import type { LockHolder } from '../lock-holder.js'

/** What is locked, as a metric would group it. */
export type LockKind =
  | 'reentrant'
  | 'fair'
  | 'spin'
  | 'fenced'
  | 'read'
  | 'write'
  | 'non-reentrant'
  | 'non-reentrant-fair'
  | 'multi'
  | 'red'
  | 'semaphore'
  | 'permit'

/**
 * What came of a call. `timeout`: somebody else has it, also for a call that was not to wait; `aborted`: its signal
 * ended it; `error`: everything else.
 */
export type CallOutcome = 'acquired' | 'timeout' | 'aborted' | 'error'

/**
 * How a lock was acquired. `remote`: by a command of this call; `reentrant`: a level more of what the caller has;
 * `passed`: another caller of this client handed it over without Redis; `granted`: Redis gave it to this waiter when its
 * holder released it.
 */
export type AcquisitionPath = 'remote' | 'reentrant' | 'passed' | 'granted'

/**
 * One call for a lock or for permits: the same object each time it is published, so that it can be the key of a
 * WeakMap. It is published as `begun` in the turn and the async context of its caller, as `parked` when it has to wait,
 * and as `ended` in the async context of its caller. Calls for members of a multi lock or RedLock are part of one call,
 * of the kind `multi` or `red`. A call that is refused for its arguments, or by a closed client, is none.
 */
export interface ObservedCall {
  readonly phase: 'begun' | 'parked' | 'ended'
  /** Several names, with commas, for a multi lock or RedLock. */
  readonly lockName: string
  readonly kind: LockKind
  readonly clientId: string
  /** Whether it had to wait, so far. */
  readonly hasWaited: boolean
  /** Whom it waited for: who had the lock when this client was last told. Undefined while nobody is known. */
  readonly holder: LockHolder | undefined
  /** Undefined until it has ended, as all that follows. */
  readonly outcome: CallOutcome | undefined
  /** Where it was acquired. */
  readonly path: AcquisitionPath | undefined
  /** From the beginning of the call to its end, ms, waits or not. */
  readonly waitedMs: number | undefined
  /**
   * From the wake-up that made this call try to having the lock, ms. A wake-up is a message (of a release, of one's
   * turn) as it arrives, or a release in this process. Undefined where another try succeeded: the first one, or one
   * after a pause or another caller's departure. What a message takes to arrive is not in it: no two clocks agree on it.
   */
  readonly handOffMs: number | undefined
  /** Where the outcome is `aborted` or `error`. */
  readonly error: unknown
}

/**
 * One lock that is held, from its first level to its last, or a permit that is an object: the same object each time.
 * Members of a multi lock or RedLock are held one by one. Permits without an object are seen as calls only. It is
 * published as `begun` in the async context of its caller.
 */
export interface ObservedHold {
  readonly phase: 'begun' | 'ended'
  readonly lockName: string
  readonly kind: LockKind
  readonly clientId: string
  /** `<clientId>:<threadId>`; the id of a permit. */
  readonly owner: string
  /**
   * Grows from 1 with each hold of the process that is published. Whoever counts what is held leaves out the end of
   * one whose serial is smaller than the first that was heard to begin: it was held before.
   */
  readonly serial: number
  /**
   * Undefined until it has ended. `unknown`: it was given back, and Redis did not answer for so long that the caller
   * was told; it is tried on in the background.
   */
  readonly outcome: 'released' | 'lost' | 'unknown' | undefined
  /** Why it was lost. */
  readonly reason: LossReason | undefined
  /** Until its release began, or its loss was noticed, ms. */
  readonly heldMs: number | undefined
}

/** One answer to a renewal of something that is still held. */
export interface ObservedRenewal {
  readonly lockName: string
  readonly kind: LockKind
  readonly clientId: string
  readonly owner: string
  /** `unanswered`: whether it was renewed is not known; it is asked again while the lease can be trusted. */
  readonly outcome: 'renewed' | 'lost' | 'unanswered'
  /**
   * For how long the lease could still be trusted when the answer came, before it counted, ms. In peace two thirds of
   * the lease; the nearer to 0, the nearer to a loss.
   */
  readonly marginMs: number
}
