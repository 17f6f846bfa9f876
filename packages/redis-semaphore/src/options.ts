import { InvalidArgumentError } from '@holdfast/core'
import { checkOptions, type KnownKeys } from '@holdfast/core/siblings'
import type { LostLockError } from './errors.js'

/** All durations in milliseconds. */
export interface TimeoutOptions {
  /** Redis frees the mutex so long after it was acquired or last refreshed. Default: 10,000. */
  lockTimeout?: number
  /** How long `acquire` and `tryAcquire` wait. Default: 10,000. */
  acquireTimeout?: number
  /** Attempts that they make, `retryInterval` apart: n of them wait (n - 1) intervals. Default: no limit. */
  acquireAttemptsLimit?: number
  /** See `acquireAttemptsLimit`. Default: 10. */
  retryInterval?: number
  /** How often the mutex is refreshed; 0: never. Default: 0.8 of `lockTimeout`. */
  refreshInterval?: number
}

/** The options of a Mutex: those of redis-semaphore. */
export interface LockOptions<M = unknown> extends TimeoutOptions {
  /**
   * Called when the mutex was lost while it was refreshed, before anybody else can have it. Default: throws the error,
   * which is an unhandled rejection.
   */
  onLockLost?: (this: M, error: LostLockError) => void
}

/** The defaults of the time-outs, as in redis-semaphore. */
export const defaultTimeoutOptions = {
  lockTimeout: 10_000,
  acquireTimeout: 10_000,
  acquireAttemptsLimit: Number.POSITIVE_INFINITY,
  retryInterval: 10,
}

const REFRESHED_AFTER = 0.8
const OPTIONS: KnownKeys<LockOptions> = {
  lockTimeout: true,
  acquireTimeout: true,
  acquireAttemptsLimit: true,
  retryInterval: true,
  refreshInterval: true,
  onLockLost: true,
}
const OF_OWNERS = ['identifier', 'acquiredExternally', 'externallyAcquiredIdentifier', 'identifierSuffix']

export interface ResolvedOptions<M> {
  readonly leaseMs: number
  readonly waitMs: number
  /** Between two looks at what is no lock of Holdfast. */
  readonly retryMs: number
  /** 0: never. */
  readonly refreshMs: number
  readonly onLockLost: (this: M, error: LostLockError) => void
}

/** @throws InvalidArgumentError */
export function resolveOptions<M>(options: LockOptions<M>): ResolvedOptions<M> {
  for (const name of OF_OWNERS.filter((each) => each in options)) {
    const value = (options as Record<string, unknown>)[name]
    throw new InvalidArgumentError(name, value, 'left out: an owner of Holdfast is named by its client')
  }
  checkOptions('options', options, OPTIONS)
  const { lockTimeout, acquireTimeout, acquireAttemptsLimit, retryInterval } = {
    ...defaultTimeoutOptions,
    ...options,
  }
  const { refreshInterval = Math.round(lockTimeout * REFRESHED_AFTER), onLockLost = thrown } = options
  checkNumber('lockTimeout', lockTimeout, 1)
  checkNumber('acquireTimeout', acquireTimeout, 0)
  checkNumber('acquireAttemptsLimit', acquireAttemptsLimit, 1)
  checkNumber('retryInterval', retryInterval, 0)
  checkNumber('refreshInterval', refreshInterval, 0)
  const attemptsMs = acquireAttemptsLimit === Infinity ? Infinity : (acquireAttemptsLimit - 1) * retryInterval
  const waitMs = Math.min(acquireTimeout, attemptsMs)
  return {
    leaseMs: lockTimeout,
    waitMs,
    retryMs: Math.max(1, retryInterval),
    refreshMs: refreshInterval,
    onLockLost,
  }
}

function thrown(error: LostLockError): never {
  throw error
}

function checkNumber(name: string, value: unknown, least: number): void {
  if (typeof value !== 'number' || !(value >= least)) {
    throw new InvalidArgumentError(name, value, `a number of at least ${least}`)
  }
}
