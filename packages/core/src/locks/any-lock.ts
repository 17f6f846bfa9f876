import type { AcquireOptions } from '../acquire/acquire-options.js'
import type { LockHold } from '../hold.js'

/** The operations common to all locks, of one name or of several. All durations are milliseconds. */
export interface AnyLock<H extends LockHold = LockHold> {
  readonly name: string
  lock(leaseMs?: number): Promise<H>
  tryLock(waitMs?: number, leaseMs?: number): Promise<boolean>
  unlock(hold?: H): Promise<void>
  forceUnlock(): Promise<boolean>
  isLocked(): Promise<boolean>
  isHeldByCurrentContext(): Promise<boolean>
  isHeldByThread(threadId: number): Promise<boolean>
  getHoldCount(): Promise<number>
  remainTimeToLive(): Promise<number>
  acquire(options?: AcquireOptions): Promise<H>
  tryAcquire(options?: AcquireOptions): Promise<H | null>
  withLock<T>(callback: (hold: H) => Promise<T> | T, options?: AcquireOptions): Promise<T>
}
