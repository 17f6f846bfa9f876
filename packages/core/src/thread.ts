import { Context } from './context.js'
import type { Lock } from './locks/lock.js'

/**
 * A logical thread that is passed by hand instead of found around the caller: its locks are re-entrant wherever
 * they are used, and hers alone.
 */
export class LockThread {
  /** @internal Threads come from a client. */
  constructor(
    private readonly context: Context,
    private readonly lockOf: (name: string, context: Context) => Lock,
  ) {}

  /** For `isHeldByThread`. Unique within the client. */
  get id(): number {
    return this.context.id
  }

  /** @throws InvalidArgumentError, ClientClosedError */
  getLock(name: string): Lock {
    return this.lockOf(name, this.context)
  }
}
