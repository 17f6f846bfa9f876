import type { AcquireOptions } from '../acquire/acquire-options.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkOptions } from '../arguments/validate.js'
import { InvalidArgumentError } from '../errors.js'
import type { LockHold } from '../hold.js'

/** From whom `forceUnlock` takes a lock. */
export interface ForceUnlockOptions {
  /**
   * The only owner to take the lock from: `LockHolder.owner`, as `inspect()` or an error showed it. Default: any
   * owner that holds it when Redis runs the command.
   */
  holder?: string | undefined
}

const FORCE_UNLOCK_OPTIONS: KnownKeys<ForceUnlockOptions> = { holder: true }

export function checkedHolder(options: ForceUnlockOptions): string | undefined {
  checkOptions('options', options, FORCE_UNLOCK_OPTIONS)
  const { holder } = options
  if (holder !== undefined && (typeof (holder as unknown) !== 'string' || holder === '')) {
    throw new InvalidArgumentError('holder', holder, 'the owner that was shown, a non-empty string')
  }
  return holder
}

/** The operations common to all locks, of one name or of several. All durations are milliseconds. */
export interface AnyLock<H extends LockHold = LockHold> {
  readonly name: string
  /**
   * Waits until the caller holds the lock: without a limit, unless the client has `waitMs`.
   * @throws as `Lock.lock`
   */
  lock(leaseMs?: number): Promise<H>
  /**
   * Tries to acquire the lock, waiting at most `waitMs`.
   * @param waitMs how long to wait, default 0: one attempt
   * @param leaseMs as for `lock`
   * @returns false: another owner holds the lock
   * @throws as `lock`, but no LockTimeoutError
   */
  tryLock(waitMs?: number, leaseMs?: number): Promise<boolean>
  /**
   * Releases one level and waits for the reply: the level of `hold`, by default the caller's latest.
   * @throws InvalidArgumentError `hold` belongs to another lock
   * @throws NotLockOwnerError the caller holds no level, or the lock was lost; the current holder is unaffected
   * @throws RedisUnavailableError see `LockHold.release`
   */
  unlock(hold?: H): Promise<void>
  /**
   * Releases the lock regardless of its owner, or if `holder` is its owner, and notifies the holder if it is a Holdfast
   * client. Without `holder` it asks Redis first who that is. Compared in Redis: a holder that came in meanwhile keeps the
   * lock, also when the command is sent again because its reply was lost.
   * @returns whether the owner had it. False: the lock was free, or its holder has just released it
   * @throws HolderChangedError another owner than `holder` has it; InvalidArgumentError, RedisUnavailableError,
   *   WrongTypeError, ClientClosedError
   */
  forceUnlock(options?: ForceUnlockOptions): Promise<boolean>
  /** Asks Redis whether any owner holds the lock. @throws RedisUnavailableError, WrongTypeError, ClientClosedError */
  isLocked(): Promise<boolean>
  /**
   * Asks Redis whether the caller holds the lock.
   * @throws RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  isHeldByCurrentContext(): Promise<boolean>
  /**
   * Asks Redis whether a thread of this client holds the lock.
   * @param threadId the `id` of a thread of the client that made this lock
   * @throws InvalidArgumentError; else as `isLocked`
   */
  isHeldByThread(threadId: number): Promise<boolean>
  /**
   * Asks Redis for the number of levels that the caller holds; 0: none.
   * @throws RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  getHoldCount(): Promise<number>
  /**
   * Asks Redis for the lease that is left, ms; -2: the lock is free, -1: it has no expiry.
   * @throws RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  remainTimeToLive(): Promise<number>
  /**
   * Waits until the caller holds the lock: at most `waitMs`, by default the client's, else without a limit.
   * @throws as `Lock.acquire`
   */
  acquire(options?: AcquireOptions): Promise<H>
  /**
   * Tries once, or waits up to `waitMs` if given.
   * @returns null: another owner holds the lock
   * @throws as `acquire`, but no LockTimeoutError
   */
  tryAcquire(options?: AcquireOptions): Promise<H | null>
  /**
   * Runs the callback while the lock is held; waits for it like `acquire`, by default without a limit.
   * @throws as `Lock.withLock`
   */
  withLock<T>(callback: (hold: H) => Promise<T> | T, options?: AcquireOptions): Promise<T>
}
