import type { LossReason } from '../errors.js'
import type { LockHolder } from '../lock-holder.js'

/** The kind of lock, as a metric would group it. */
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
 * The outcome of a call. `timeout`: another owner holds the lock, also for a single attempt; `aborted`: the call's
 * signal ended it; `error`: everything else.
 */
export type CallOutcome = 'acquired' | 'timeout' | 'aborted' | 'error'

/**
 * How a lock was acquired. `remote`: by a command of this call; `reentrant`: another level of the caller's hold;
 * `passed`: passed on by another caller of this client, without Redis; `granted`: Redis granted it to this waiter
 * when the previous holder released it.
 */
export type AcquisitionPath = 'remote' | 'reentrant' | 'passed' | 'granted'

/**
 * One call for a lock or for permits. The same object is published each time, so that it can be the key of a WeakMap:
 * as `begun` in the event-loop turn and async context of the caller, as `parked` when it has to wait, as `ended` in
 * the caller's async context. Calls for the members of a multi lock or RedLock are part of one call, of kind `multi`
 * or `red`. A call rejected for its arguments or by a closed client is not published.
 */
export interface ObservedCall {
  readonly phase: 'begun' | 'parked' | 'ended'
  /** Several names, separated by commas, for a multi lock or RedLock. */
  readonly lockName: string
  readonly kind: LockKind
  readonly clientId: string
  /** Whether it has had to wait. */
  readonly hasWaited: boolean
  /** The holder it waited for, as last reported to this client. Undefined while unknown. */
  readonly holder: LockHolder | undefined
  /** Undefined until the call has ended, like all fields below. */
  readonly outcome: CallOutcome | undefined
  /** How it was acquired. */
  readonly path: AcquisitionPath | undefined
  /** Duration of the call, ms, with or without waits. */
  readonly waitedMs: number | undefined
  /**
   * Hand-off latency: from the wake-up that made this call try to holding the lock, ms. A wake-up is the arrival of a
   * message (a release, a turn), or a release in this process. Undefined when the successful try had no wake-up: a
   * first try, or one after a pause or another caller's departure. Excludes the message's transit time, because no
   * two clocks agree on it.
   */
  readonly handOffMs: number | undefined
  /** Set for the outcomes `aborted` and `error`. */
  readonly error: unknown
}

/**
 * One hold of a lock, from its first level to its last, or of a permit that is an object; the same object each time.
 * The members of a multi lock or RedLock are separate holds. Permits without an object appear as calls only.
 * Published as `begun` in the caller's async context.
 */
export interface ObservedHold {
  readonly phase: 'begun' | 'ended'
  readonly lockName: string
  readonly kind: LockKind
  readonly clientId: string
  /** `<clientId>:<threadId>`; for a permit, its id. */
  readonly owner: string
  /**
   * Increases from 1 with each published hold of the process. A subscriber that counts current holds must ignore the
   * end of a hold whose serial is below the first one it saw begin: that hold is older than the subscription.
   */
  readonly serial: number
  /**
   * Undefined until the hold has ended. `unknown`: its release got no reply before the caller's deadline, and is
   * retried in the background.
   */
  readonly outcome: 'released' | 'lost' | 'unknown' | undefined
  /** Why it was lost. */
  readonly reason: LossReason | undefined
  /** Duration until the release began or the loss was noticed, ms. */
  readonly heldMs: number | undefined
}

/** One renewal of something still held. */
export interface ObservedRenewal {
  readonly lockName: string
  readonly kind: LockKind
  readonly clientId: string
  readonly owner: string
  /** `unanswered`: it is unknown whether the renewal took effect; the watchdog retries while the lease is trusted. */
  readonly outcome: 'renewed' | 'lost' | 'unanswered'
  /**
   * Trusted time left when the reply arrived, before it took effect, ms. Normally two thirds of the lease; the closer
   * to 0, the closer to a loss.
   */
  readonly marginMs: number
}
