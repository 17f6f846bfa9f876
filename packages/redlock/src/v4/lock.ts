import type { LockHold } from '@holdfast/core'
import { heldBy } from '../held.js'
import type { Callback } from './callback.js'

/** Calls of a lock to the redlock that made it. */
export interface LockKeeper {
  /** Releases a lock. @throws LockError */
  unlock(lock: Lock, callback?: Callback<void>): Promise<void>
  /** Makes a lock last longer: it resolves with this very lock. @throws LockError */
  extend(lock: Lock, ttl: number, callback?: Callback<Lock>): Promise<Lock>
}

/** Resources that are locked until `expiration`. */
export class Lock {
  /** Makes the lock that a redlock returns. A copy of one releases and extends nothing. */
  // eslint-disable-next-line max-params -- as redlock has it
  constructor(
    readonly redlock: LockKeeper,
    public resource: string | string[],
    /** Unique to this lock. The names of its owners in Redis are those of its `holds`. */
    public value: string,
    /** Wall-clock ms; 0: released. */
    public expiration: number,
    /** Attempts that it took. */
    public attempts = 0,
    public attemptsRemaining = 0,
  ) {}

  /** The holds of Holdfast that the lock consists of: one for each Redis client that has granted it. */
  get holds(): readonly LockHold[] {
    return heldBy(this)?.holds ?? []
  }

  /** Releases the lock, and waits until all Redis clients have answered. @throws LockError a quorum did not have it */
  unlock(callback?: Callback<void>): Promise<void> {
    return this.redlock.unlock(this, callback)
  }

  /** Makes the lock last for `ttl` ms from now, at least. Resolves with this very lock. @throws LockError */
  extend(ttl: number, callback?: Callback<Lock>): Promise<Lock> {
    return this.redlock.extend(this, ttl, callback)
  }
}
