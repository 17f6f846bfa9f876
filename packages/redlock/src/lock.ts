import type { LockHold } from '@holdfast/core'
import type { ExecutionStats } from './ballot.js'
import { heldBy } from './held.js'
import type { Settings } from './settings.js'

/** The result of an operation that a quorum has agreed to. */
export interface ExecutionResult {
  readonly attempts: readonly Promise<ExecutionStats>[]
  /** When it began, wall-clock ms. */
  readonly start: number
}

/** Calls of a lock to the redlock that made it. */
export interface LockKeeper {
  /** Releases a lock. @throws ExecutionError */
  release(lock: Lock, settings?: Partial<Settings>): Promise<ExecutionResult>
  /** Makes a lock last longer: it resolves with the lock that replaces it. @throws ExecutionError */
  extend(lock: Lock, duration: number, settings?: Partial<Settings>): Promise<Lock>
}

/** Resources that are locked until `expiration`. */
export class Lock {
  /** Makes the lock that a redlock returns. A copy of one releases and extends nothing. */
  // eslint-disable-next-line max-params -- as redlock has it
  constructor(
    readonly redlock: LockKeeper,
    readonly resources: string[],
    /** Unique to this lock. The names of its owners in Redis are those of its `holds`. */
    readonly value: string,
    readonly attempts: readonly Promise<ExecutionStats>[],
    /** Wall-clock ms; 0: released, or replaced by an extended lock. */
    public expiration: number,
    readonly settings?: Partial<Settings>,
  ) {}

  /** The holds of Holdfast that the lock consists of: one for each Redis client that has granted it. */
  get holds(): readonly LockHold[] {
    return heldBy(this)?.holds ?? []
  }

  /**
   * Releases the lock, and waits until a quorum of the Redis clients has answered.
   * @throws ExecutionError fewer than a quorum still had it
   */
  release(): Promise<ExecutionResult> {
    return this.redlock.release(this)
  }

  /**
   * Makes the lock last for `duration` ms from now, at least, and waits until a quorum has agreed. Resolves with a lock
   * that replaces this one.
   * @throws ExecutionError; InvalidArgumentError
   */
  extend(duration: number): Promise<Lock> {
    return this.redlock.extend(this, duration, this.settings)
  }
}
