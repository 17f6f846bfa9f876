import { InvalidArgumentError, type AnyLock, type LockClient, type LockHold } from '@holdfast/core'
import { checkOptions, type KnownKeys } from '@holdfast/core/siblings'
import type { Job } from 'bullmq'

/**
 * How to treat a job whose resource is busy. `delay`: returns it to the queue as delayed. `wait`: waits in the
 * worker. `fail`: fails it with the LockTimeoutError or LockBusyError, which uses up one of its attempts.
 */
export type OnConflict = 'delay' | 'wait' | 'fail'

const STRATEGIES: readonly unknown[] = ['delay', 'wait', 'fail'] satisfies OnConflict[]

/** All durations in milliseconds. */
export interface ConflictOptions<J> {
  /** Default: 'delay'. */
  readonly onConflict?: OnConflict | undefined
  /**
   * How long a job is delayed after a conflict; a function may use `job.attemptsStarted`. Default: 50 ms, doubled with
   * each start up to 1,000, less a random part of up to a half.
   */
  readonly delayMs?: number | ((job: J) => number) | undefined
  /** How long a job waits in the worker before it counts as a conflict. Default: 0; with `wait`: no limit. */
  readonly waitMs?: number | undefined
  /** How many may wait for the lock when a job would wait in the worker; with more it counts as a conflict at once. */
  readonly maxWaiting?: number | undefined
  /**
   * The lease. Not renewed, unless `renew` is true: Redis frees the lock after it in any case. Default: renewed by the
   * watchdog.
   */
  readonly leaseMs?: number | undefined
  /** Whether the watchdog renews a lease of `leaseMs`. Default: only without `leaseMs`. */
  readonly renew?: boolean | undefined
}

/** The resource by name: a lock from `getLock`; for several names a multi lock. */
export interface LockByName<J> {
  readonly locks: LockClient
  /** Several names: all of them, or none. */
  readonly name: string | ((job: J) => string | readonly string[])
}

/** The resource as a lock of any kind. If `job` has a declared type, the processor gets the hold of that kind. */
export interface LockByObject<J, H extends LockHold> {
  readonly lock: (job: J) => Pick<AnyLock<H>, 'withLock'>
}

/** The options of `locked`: the resource, and what a conflict means. */
export type LockedOptions<J, H extends LockHold = LockHold> = ConflictOptions<J> &
  (LockByName<J> | LockByObject<J, H>)

/**
 * A BullMQ processor that also receives the hold. `signal` aborts with a LockLostError if the lock is lost, and when
 * the job is cancelled.
 */
export type LockedProcessor<J extends Job, R, H extends LockHold = LockHold> = (
  job: J,
  token: string | undefined,
  signal: AbortSignal,
  hold: H,
) => Promise<R> | R

type EveryOption = ConflictOptions<never> & LockByName<never> & LockByObject<never, never>

const LOCKED_OPTIONS: KnownKeys<EveryOption> = {
  onConflict: true,
  delayMs: true,
  waitMs: true,
  maxWaiting: true,
  leaseMs: true,
  renew: true,
  locks: true,
  name: true,
  lock: true,
}

/** @throws InvalidArgumentError */
export function checkLockedOptions(processor: unknown, options: LockedOptions<never>): void {
  check('processor', processor, typeof processor === 'function', 'a function')
  checkOptions('options', options, LOCKED_OPTIONS)
  const { onConflict = 'delay', delayMs = 1, waitMs = 0, leaseMs = 1, maxWaiting = 0 } = options
  check('onConflict', onConflict, STRATEGIES.includes(onConflict), "one of 'delay', 'wait', 'fail'")
  if (typeof delayMs !== 'function') {
    checkDelay(delayMs)
  }
  check('waitMs', waitMs, isNumber(waitMs) && waitMs >= 0, 'a number of milliseconds, not negative')
  check(
    'maxWaiting',
    maxWaiting,
    Number.isSafeInteger(maxWaiting) && maxWaiting >= 0,
    'an integer of at least 0',
  )
  check('leaseMs', leaseMs, isNumber(leaseMs) && leaseMs > 0, 'a number of milliseconds, greater than 0')
  checkRenew(options)
  if ('lock' in options) {
    check('lock', options.lock, typeof options.lock === 'function', 'a function of the job')
    check('lock', options.lock, !('name' in options || 'locks' in options), 'omitted with locks and name')
  } else {
    const { locks, name } = options
    check(
      'locks',
      locks,
      isObject(locks) && 'getLock' in locks,
      'a LockClient, as from LockClient.connect(url)',
    )
    check('name', name, ['string', 'function'].includes(typeof name), 'a string or a function of the job')
  }
}

function checkRenew({ renew = true, leaseMs }: ConflictOptions<never>): void {
  check('renew', renew, typeof renew === 'boolean', 'true or false')
  const rule = 'left out, or given with a leaseMs: a lease that is not renewed needs a length of its own'
  check('renew', renew, renew || leaseMs !== undefined, rule)
}

/** Shorter, and a job would return and conflict as fast as Redis can answer. */
export function checkDelay(delayMs: number): void {
  check(
    'delayMs',
    delayMs,
    isNumber(delayMs) && delayMs >= 1 && delayMs < Infinity,
    'a number of milliseconds, at least 1',
  )
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number'
}

function check(argument: string, value: unknown, isRight: boolean, rule: string): void {
  if (!isRight) {
    throw new InvalidArgumentError(argument, value, rule)
  }
}
