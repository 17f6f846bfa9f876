import type { LockLostError } from './errors.js'

/** What a release found. `lost`: the lock was gone before it. */
export type ReleaseOutcome = 'released' | 'still-held' | 'lost' | 'already-released'

/** The proof that its owner has a lock, of whatever kind. */
export interface LockHold {
  readonly lockName: string
  readonly owner: string
  /** How many levels this owner holds now, this one included. */
  readonly count: number
  /** Aborts with a LockLostError before anybody else can own the lock. */
  readonly signal: AbortSignal
  /** How long this client may still act as the owner without asking again, ms; 0 when it may not. */
  readonly trustedForMs: number
  /** Why it was lost; null while it was not. */
  readonly lossError: LockLostError | null
  /** Local: throws LockLostError unless more than `ms` of trusted time are left, NotLockOwnerError when released. */
  ensure(ms?: number): void
  /** Asks Redis. @throws LockLostError, RedisUnavailableError, NotLockOwnerError */
  verify(): Promise<void>
  /** At least this long from now, ms; never shorter. @throws LockLostError, RedisUnavailableError, NotLockOwnerError */
  extend(ms: number): Promise<void>
  /** Gives back this level. Never throws for a hold that expired or was given back before. */
  release(): Promise<ReleaseOutcome>
  [Symbol.asyncDispose](): Promise<void>
}
