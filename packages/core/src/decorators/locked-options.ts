import { InvalidArgumentError } from '../errors.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import type { LockClient } from '../lock-client.js'
import type { AnyLock } from '../locks/any-lock.js'
import { checkLevelLease } from '../acquire/lease-argument.js'
import {
  checkClient,
  checkDuration,
  checkFunction,
  checkName,
  checkOneOf,
  checkOptions,
} from '../arguments/validate.js'

/** The lock of a name, where none of the kinds that have a word will do. */
export type LockChoice = (locks: LockClient, name: string) => AnyLock

/** What `@Locked` is told. All durations are milliseconds. */
export interface LockedOptions<Args extends readonly unknown[] = readonly []> {
  /**
   * A template, as in `'order:{0}'` or `'order:{0.id}'`, or a function of the arguments. Left out: class and method,
   * `Orders.pay`, which all overloads share.
   */
  readonly name?: string | ((...args: Args) => string) | undefined
  /** Whose locks: a client, or a function of the object. Left out: what `provideLocks` was told. */
  readonly client?: LockClient | ((self: never) => LockClient) | undefined
  /** The kind, or a function that makes the lock. Default: `'plain'`, that of `getLock`. */
  readonly lock?: 'plain' | 'fair' | 'fenced' | 'read' | 'write' | LockChoice | undefined
  /** How long to wait for a busy lock. Default 0: one attempt. Not beside `onBusy: 'wait'`, which has no limit. */
  readonly waitMs?: number | undefined
  /** Redis gives the lock back after this long, whatever happens. Left out: the watchdog renews. */
  readonly leaseMs?: number | undefined
  /** Ends the wait: a function of the arguments that finds the signal, if there is one. */
  readonly signal?: ((...args: Args) => AbortSignal | undefined) | undefined
  /**
   * When somebody else has the lock after `waitMs`. `throw`, the default: LockTimeoutError. `skip`: the method does
   * not run, and its call gives undefined. `wait`: wait for it without a limit.
   */
  readonly onBusy?: 'throw' | 'skip' | 'wait' | undefined
  /**
   * When Redis fails before the method began. `throw`, the default: RedisUnavailableError. `skip`: the method does
   * not run, and its call gives undefined: rather nobody. `run`: it runs without the lock: several may at once.
   */
  readonly onRedisError?: 'throw' | 'skip' | 'run' | undefined
}

const LOCKED_OPTIONS: KnownKeys<LockedOptions> = {
  name: true,
  client: true,
  lock: true,
  waitMs: true,
  leaseMs: true,
  signal: true,
  onBusy: true,
  onRedisError: true,
}
const KINDS = ['plain', 'fair', 'fenced', 'read', 'write']

/** @throws InvalidArgumentError */
export function checkLockedOptions(options: LockedOptions<never>): void {
  checkOptions('options', options, LOCKED_OPTIONS)
  const { name, client, lock = 'plain', waitMs, leaseMs, signal, onBusy, onRedisError } = options
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
  checkDuration('waitMs', waitMs, 'zero')
  checkLevelLease(leaseMs)
  checkOneOf('onBusy', onBusy, [undefined, 'throw', 'skip', 'wait'])
  checkOneOf('onRedisError', onRedisError, [undefined, 'throw', 'skip', 'run'])
  if (onBusy === 'wait' && waitMs !== undefined) {
    throw new InvalidArgumentError(
      'waitMs',
      waitMs,
      "left out beside onBusy: 'wait', which waits without a limit",
    )
  }
}
