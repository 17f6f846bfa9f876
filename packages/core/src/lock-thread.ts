import type { MultiLock } from './compound/multi-lock.js'
import type { RedLock, RedLockArguments, RedLockOptions } from './compound/red-lock.js'
import type { Context, CallSite } from './context/context.js'
import type { SpinLockOptions } from './kinds/backoff.js'
import type { FencedLock } from './locks/fenced-lock.js'
import type { FencedLockOptions } from './kinds/fenced-options.js'
import type { LockOptions, PlainLockOptions } from './kinds/lock-options.js'
import type { LockFactory } from './lock-factory.js'
import type { Lock } from './locks/lock.js'
import type { ReadWriteLock, ReadWriteLockOptions } from './locks/read-write-lock.js'
import { showsOnly } from './runtime/shows-only.js'

/**
 * A logical thread that is passed explicitly instead of being found around the caller: its locks are reentrant
 * wherever they are used, and belong only to that thread.
 */
export class LockThread {
  /** @internal Created by a client. */
  constructor(
    private readonly context: Context,
    private readonly locks: LockFactory,
  ) {}

  /** The thread's id, for `isHeldByThread`. Unique within the client. */
  get id(): number {
    return this.context.id
  }

  /**
   * Returns a reentrant lock of this thread. See `LockClient.getLock`.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getLock(name: string, options?: PlainLockOptions): Lock {
    return this.locks.lock(name, options, this.site)
  }

  /**
   * Returns a fair lock of this thread. See `LockClient.getFairLock`.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getFairLock(name: string, options?: LockOptions): Lock {
    return this.locks.fairLock(name, options, this.site)
  }

  /**
   * Returns a read-write lock of this thread. See `LockClient.getReadWriteLock`.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getReadWriteLock(name: string, options: ReadWriteLockOptions = {}): ReadWriteLock {
    return this.locks.readWriteLock(name, options, this.site)
  }

  /**
   * Returns a fenced lock of this thread. See `LockClient.getFencedLock`.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getFencedLock(name: string, options?: FencedLockOptions): FencedLock {
    return this.locks.fencedLock(name, options, this.site)
  }

  /**
   * Returns a spin lock of this thread. See `LockClient.getSpinLock`.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getSpinLock(name: string, options?: SpinLockOptions): Lock {
    return this.locks.spinLock(name, options, this.site)
  }

  /**
   * Returns a non-reentrant lock of this thread. See `LockClient.getNonReentrantLock`.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getNonReentrantLock(name: string, options?: LockOptions): Lock {
    return this.locks.nonReentrantLock(name, options, this.site)
  }

  /**
   * Returns a non-reentrant fair lock of this thread. See `LockClient.getNonReentrantFairLock`.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getNonReentrantFairLock(name: string, options?: LockOptions): Lock {
    return this.locks.nonReentrantFairLock(name, options, this.site)
  }

  /**
   * Makes one lock of several locks of this thread. See `LockClient.getMultiLock`.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getMultiLock(...locks: Lock[]): MultiLock {
    return this.locks.multiLock(locks, this.site)
  }

  /**
   * Makes one lock of locks on several nodes of this thread. See `LockClient.getRedLock`.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getRedLock(...locks: Lock[]): RedLock
  getRedLock(locks: readonly Lock[], options?: RedLockOptions): RedLock
  getRedLock(...args: RedLockArguments): RedLock {
    return this.locks.redLock(args, this.site)
  }

  private get site(): CallSite {
    return { context: this.context, frame: null }
  }
}

showsOnly(LockThread, ['id'])
