import type { AcquireOptions, LockErrorCode, LockClient, AnyLock } from '../../index.js'
import { inHold } from './current-hold.js'
import type { LockNaming } from './lock-name.js'
import type { LockedOptions } from './locked-options.js'
import { locksFor } from './provide-locks.js'

/** The configuration of one decorated method. */
export interface Guard {
  readonly options: LockedOptions<unknown[]>
  readonly naming: LockNaming
}

/** Runs one call of a decorated method. */
export async function lockedCall(
  guard: Guard,
  self: unknown,
  args: unknown[],
  work: () => unknown,
): Promise<unknown> {
  const { onBusy, onRedisError } = guard.options
  const lock = lockOf(guard, self, args)
  const progress = { entered: false }
  try {
    return await lock.withLock(
      (hold) => {
        progress.entered = true
        return inHold(hold, work)
      },
      limitsOf(guard.options, args),
    )
  } catch (error) {
    // Once the method has begun, every error is its own, even one of a lock that it uses: it must not be skipped.
    if (progress.entered) {
      throw error
    }
    const answer = isBusy(error) ? onBusy : isFailureOfRedis(error) ? onRedisError : 'throw'
    if (answer === 'skip') {
      return undefined
    }
    if (answer !== 'run') {
      throw error
    }
  }
  return inHold(undefined, work)
}

function lockOf({ options, naming }: Guard, self: unknown, args: unknown[]): AnyLock {
  const { client, lock = 'plain' } = options
  const locks =
    typeof client === 'function'
      ? (client as (self: unknown) => LockClient)(self)
      : (client ?? locksFor(self))
  const name = naming(self, args)
  if (typeof lock === 'function') {
    return lock(locks, name)
  }
  switch (lock) {
    case 'plain':
      return locks.getLock(name)
    case 'fair':
      return locks.getFairLock(name)
    case 'fenced':
      return locks.getFencedLock(name)
    case 'read':
      return locks.getReadWriteLock(name).readLock()
    case 'write':
      return locks.getReadWriteLock(name).writeLock()
  }
}

function limitsOf(options: LockedOptions<unknown[]>, args: unknown[]): AcquireOptions {
  const { onBusy, waitMs = onBusy === 'wait' ? Infinity : 0, leaseMs, renew, signal, maxWaiting } = options
  return { waitMs, leaseMs, renew, signal: signal?.(...args), maxWaiting }
}

// Compared by code: the client may come from another copy of this package.
function isBusy(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'LOCK_TIMEOUT' || code === 'LOCK_BUSY'
}

function isFailureOfRedis(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'REDIS_UNAVAILABLE' || code === 'QUORUM'
}

function codeOf(error: unknown): LockErrorCode | undefined {
  return (error as { code?: LockErrorCode } | null | undefined)?.code
}
