import type { AcquireOptions } from '../acquire/acquire-options.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkOptions } from '../arguments/validate.js'
import { InvalidArgumentError } from '../errors.js'
import type { LockHold } from '../hold.js'

export interface ForceUnlockOptions {
  /**
   * The only owner to take the lock from: `LockHolder.owner`, as `inspect()` or an error showed it. Default: whoever
   * holds it when Redis hears of the call.
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
  lock(leaseMs?: number): Promise<H>
  tryLock(waitMs?: number, leaseMs?: number): Promise<boolean>
  unlock(hold?: H): Promise<void>
  forceUnlock(options?: ForceUnlockOptions): Promise<boolean>
  isLocked(): Promise<boolean>
  isHeldByCurrentContext(): Promise<boolean>
  isHeldByThread(threadId: number): Promise<boolean>
  getHoldCount(): Promise<number>
  remainTimeToLive(): Promise<number>
  acquire(options?: AcquireOptions): Promise<H>
  tryAcquire(options?: AcquireOptions): Promise<H | null>
  withLock<T>(callback: (hold: H) => Promise<T> | T, options?: AcquireOptions): Promise<T>
}
