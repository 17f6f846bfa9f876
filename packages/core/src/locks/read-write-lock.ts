import type { KnownKeys } from '../arguments/unknown-key.js'
import type { LockInspection } from '../inspect/lock-inspection.js'
import type { Lock } from './lock.js'

/** Two locks of one name: any number of readers, or one writer. */
export class ReadWriteLock {
  /** @internal Locks come from a client. */
  constructor(
    readonly name: string,
    private readonly reader: Lock,
    private readonly writer: Lock,
  ) {}

  /**
   * Held by any number of owners at once while nobody has the write lock. Whoever has the write lock may take it too,
   * and keep it when the write lock is given back.
   */
  readLock(): Lock {
    return this.reader
  }

  /**
   * Held by one owner, while nobody reads but itself. A caller that has the read lock does not get it: a try is refused,
   * a wait with a limit ends at its limit, and a wait without one is a SelfDeadlockError at once, because two readers
   * that both did it would wait for each other.
   */
  writeLock(): Lock {
    return this.writer
  }

  /** Who reads or writes. See `Lock.inspect`. @returns null: nobody */
  inspect(): Promise<LockInspection | null> {
    return this.writer.inspect()
  }
}

/** How a read-write lock treats those who wait. */
export interface ReadWriteLockOptions {
  /**
   * Default true: new readers stand back behind a writer that waits, so that a stream of readers cannot keep it
   * out; those who read already, and what was forked from them, do not. False: readers join readers, always.
   */
  readersStandBack?: boolean | undefined
}

export const READ_WRITE_LOCK_OPTIONS: KnownKeys<ReadWriteLockOptions> = { readersStandBack: true }
