/// <reference lib="esnext.disposable" preserve="true" />
export type { LockClientOptions, BareCallsPolicy } from './options.js'
export { LockClient } from './lock-client.js'
export type { Lock } from './locks/lock.js'
export type { AcquireOptions } from './acquire-call.js'
export type { LockThread } from './thread.js'
export type { Hold, ReleaseOutcome } from './hold.js'
export type { LockEventListener, LockEventName, LockEvents } from './events.js'
export type { Clock } from './system-clock.js'
export type { IoredisClient } from './redis/ioredis-client.js'
export {
  ClientClosedError,
  ContextRequiredError,
  InvalidArgumentError,
  LockError,
  LockLostError,
  LockTimeoutError,
  NotLockOwnerError,
  RedisUnavailableError,
  SelfDeadlockError,
  WrongTypeError,
} from './errors.js'
export type { CommandOutcome, LockErrorCode, LockErrorDetails, LockHolder, LossReason } from './errors.js'
