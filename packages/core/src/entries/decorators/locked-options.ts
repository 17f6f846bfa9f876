import { InvalidArgumentError, type LockClient, type AnyLock } from '../../index.js'
import {
  checkLevelLease,
  checkRenew,
  checkClient,
  checkWait,
  checkFunction,
  checkMaxWaiting,
  checkName,
  checkOneOf,
  type KnownKeys,
  checkOptions,
} from '../door.js'

/** Makes the lock of a name, for kinds without a keyword. */
export type LockChoice = (locks: LockClient, name: string) => AnyLock

/** The options of `@Locked`. All durations are milliseconds. */
export interface LockedOptions<Args extends readonly unknown[] = readonly []> {
  /**
   * The lock's name: a template, as in `'order:{0}'` or `'order:{0.id}'`, or a function of the arguments. Default:
   * class and method, `Orders.pay`, shared by all overloads.
   */
  readonly name?: string | ((...args: Args) => string) | undefined
  /** The lock client, or a function of the object. Default: the client given to `provideLocks`. */
  readonly client?: LockClient | ((self: never) => LockClient) | undefined
  /** The kind of lock, or a function that makes it. Default: `'plain'`, as from `getLock`. */
  readonly lock?: 'plain' | 'fair' | 'fenced' | 'read' | 'write' | LockChoice | undefined
  /** How long to wait for a busy lock. Default 0: one attempt. Not with `onBusy: 'wait'`, which has no limit. */
  readonly waitMs?: number | undefined
  /**
   * The lease. Not renewed, unless `renew` is true: Redis frees the lock after it in any case. Default: renewed by the
   * watchdog.
   */
  readonly leaseMs?: number | undefined
  /** Whether the watchdog renews a lease of `leaseMs`. Default: only without `leaseMs`. */
  readonly renew?: boolean | undefined
  /** Ends the wait: a function of the arguments that returns the signal, if there is one. */
  readonly signal?: ((...args: Args) => AbortSignal | undefined) | undefined
  /** How many may wait for the lock when a call would have to wait; with more it counts as busy at once (LockBusyError). */
  readonly maxWaiting?: number | undefined
  /**
   * When another owner still holds the lock after `waitMs`, or too many wait. `throw` (default): the error. `skip`: the method
   * does not run, and the call returns undefined. `wait`: waits without a limit.
   */
  readonly onBusy?: 'throw' | 'skip' | 'wait' | undefined
  /**
   * When Redis fails before the method has begun. `throw` (default): RedisUnavailableError. `skip`: the method does
   * not run, and the call returns undefined. `run`: it runs without the lock, possibly several times at once.
   */
  readonly onRedisError?: 'throw' | 'skip' | 'run' | undefined
}

const LOCKED_OPTIONS: KnownKeys<LockedOptions> = {
  name: true,
  client: true,
  lock: true,
  waitMs: true,
  leaseMs: true,
  renew: true,
  signal: true,
  maxWaiting: true,
  onBusy: true,
  onRedisError: true,
}
const KINDS = ['plain', 'fair', 'fenced', 'read', 'write']

/** @throws InvalidArgumentError */
export function checkLockedOptions(options: LockedOptions<never>): void {
  checkOptions('options', options, LOCKED_OPTIONS)
  const {
    name,
    client,
    lock = 'plain',
    waitMs,
    leaseMs,
    renew,
    signal,
    maxWaiting,
    onBusy,
    onRedisError,
  } = options
  if (name !== undefined && typeof name !== 'function') {
    checkName(name)
  }
  if (client !== undefined && typeof client !== 'function') {
    checkClient('client', client)
  }
  if (typeof lock !== 'function') {
    checkOneOf('lock', lock, KINDS)
  }
  if (signal !== undefined) {
    checkFunction('signal', signal)
  }
  checkWait('waitMs', waitMs)
  checkMaxWaiting(maxWaiting)
  checkLevelLease(leaseMs)
  if (renew !== undefined) {
    checkRenew(renew, leaseMs)
  }
  checkOneOf('onBusy', onBusy, [undefined, 'throw', 'skip', 'wait'])
  checkOneOf('onRedisError', onRedisError, [undefined, 'throw', 'skip', 'run'])
  if (onBusy === 'wait' && waitMs !== undefined) {
    throw new InvalidArgumentError(
      'waitMs',
      waitMs,
      "omitted with onBusy: 'wait', which waits without a limit",
    )
  }
}
