/// <reference lib="esnext.disposable" preserve="true" />
export type { LockClientOptions } from './options.js'
export { LockClient } from './lock-client.js'
export { detached } from './context/ambient.js'
export type { Lock } from './locks/lock.js'
export type { ReadWriteLock, ReadWriteLockOptions } from './locks/read-write-lock.js'
export type { CompoundHold } from './compound/compound-hold.js'
export type { CompoundLock } from './compound/compound-lock.js'
export type { MultiLock } from './compound/multi-lock.js'
export type { RedLock, RedLockOptions } from './compound/red-lock.js'
export type { FencedHold, FencedLock } from './locks/fenced-lock.js'
export type { FencedLockOptions } from './kinds/fenced-options.js'
export type { SpinLockOptions } from './kinds/backoff.js'
export type { CountDownLatch } from './synchronizers/count-down-latch.js'
export type { Permit } from './synchronizers/permit.js'
export type {
  HeldPermitOptions,
  PermitExpirableSemaphore,
  PermitLeaseOptions,
} from './synchronizers/permit-expirable-semaphore.js'
export type { Semaphore } from './synchronizers/semaphore.js'
export type { PermitOptions, WaitOptions } from './synchronizers/wait-limits.js'
export { fencedSet } from './locks/fenced-set.js'
export type { FencedWrite, FencedWriteResult } from './locks/fenced-set.js'
export type { LockOptions, PlainLockOptions } from './kinds/lock-options.js'
export type { AcquireOptions } from './acquire/acquire-options.js'
export type { LockThread } from './lock-thread.js'
export { LOCK_CHANNELS } from './diagnostics/channels.js'
export type { LockKind, ObservedCall, ObservedHold, ObservedRenewal } from './diagnostics/messages.js'
export type { Hold } from './hold.js'
export type { LockHold, ReleaseOptions, ReleaseOutcome } from './hold.js'
export type { AnyLock, ForceUnlockOptions } from './locks/any-lock.js'
export type { LockEvents } from './events.js'
export type { Runtime } from './runtime/runtime.js'
export type { RedisTarget } from './redis/redis-target.js'
export {
  ClientClosedError,
  ContextRequiredError,
  HolderChangedError,
  InvalidArgumentError,
  LockError,
  LockLostError,
  LockBusyError,
  LockTimeoutError,
  NotLockOwnerError,
  NotReentrantError,
  QuorumError,
  RedisUnavailableError,
  SelfDeadlockError,
  WrongTypeError,
  isLockError,
} from './errors.js'
export type { AnyLockError, LockErrorCode, LossReason } from './errors.js'
export type { InspectAllOptions, LocksInspection } from './inspect-all.js'
export type { LockInspection } from './kinds/lock-inspection.js'
export type { LockHolder } from './lock-holder.js'
