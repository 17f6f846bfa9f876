import { LockSource, type LockHome } from './lock-source.js'
import { showsOnly } from './runtime/shows-only.js'

/**
 * A logical thread that is passed explicitly instead of being found around the caller: its locks are reentrant
 * wherever they are used, and belong only to that thread.
 */
export class LockThread extends LockSource {
  /** @internal Created by a client. */
  constructor(
    private readonly threadId: number,
    /** @internal */
    protected readonly home: LockHome,
  ) {
    super()
  }

  /** The thread's id, for `isHeldByThread`. Unique within the client. */
  get id(): number {
    return this.threadId
  }
}

showsOnly(LockThread, ['id'])
