import type { KnownKeys } from '../arguments/unknown-key.js'
import type { LockInspection } from '../kinds/lock-inspection.js'
import { LOCK_OPTIONS, type LockOptions } from '../kinds/lock-options.js'
import type { Lock } from './lock.js'
import { showsOnly } from '../runtime/shows-only.js'

/** Two locks under one name: any number of readers, or one writer. */
export class ReadWriteLock {
  /** @internal Created by a client. */
  constructor(
    readonly name: string,
    private readonly reader: Lock,
    private readonly writer: Lock,
  ) {}

  /**
   * Returns the lock that any number of owners hold at once while no owner holds the write lock. The writer may
   * acquire the read lock as well, and keep it after releasing the write lock.
   */
  readLock(): Lock {
    return this.reader
  }

  /**
   * Returns the lock that one owner holds while no other owner reads. A caller that holds the read lock cannot
   * upgrade: a single try fails, a limited wait ends at its limit, and an unlimited wait is a SelfDeadlockError at
   * once, because two readers that both upgrade would wait for each other.
   */
  writeLock(): Lock {
    return this.writer
  }

  /**
   * Asks Redis for the readers or the writer. See `Lock.inspect`.
   * @returns null: the lock is free
   * @throws as `Lock.inspect`
   */
  inspect(): Promise<LockInspection | null> {
    return this.writer.inspect()
  }
}

showsOnly(ReadWriteLock, ['name'])

/** How a read-write lock orders its waiters. */
export interface ReadWriteLockOptions extends LockOptions {
  /**
   * Default true: new readers queue behind a waiting writer, so that a stream of readers cannot starve it; current
   * readers, and contexts forked from them, do not. False: readers always join readers.
   */
  readersStandBack?: boolean | undefined
}

export const READ_WRITE_LOCK_OPTIONS: KnownKeys<ReadWriteLockOptions> = {
  readersStandBack: true,
  ...LOCK_OPTIONS,
}
