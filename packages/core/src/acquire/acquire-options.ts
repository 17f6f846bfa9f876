import { checkLease, checkMaxWaiting, checkWait, checkOptions } from '../arguments/validate.js'
import { nativeSignal } from '../arguments/native-signal.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { InvalidArgumentError } from '../errors.js'
import { OncePerName, warn } from '../events.js'

// A wait shorter than a slow round trip should still end with a success or a refusal.
export const ANSWER_MS = 250

const SHORT_LEASE_MS = 100
const SHORT_LEASE = 'HOLDFAST_SHORT_LEASE'
const IN_MS = 'Durations are milliseconds, not seconds: 30 s is 30_000.'
const warned = new OncePerName()

/** All durations in milliseconds. */
export interface AcquireOptions {
  /**
   * How long to wait. Default: the client's `waitMs`, else no limit; `tryAcquire`: one attempt. 0: one attempt. Infinity: no
   * limit, on purpose, and no process warning after a minute.
   */
  waitMs?: number | undefined
  /**
   * The lease. Not renewed, unless `renew` is true: Redis frees the lock after it in any case. At most 24 days. Default:
   * the client's `leaseMs`, else `lockWatchdogTimeout`, renewed by the watchdog.
   */
  leaseMs?: number | undefined
  /**
   * Whether the watchdog renews a lease of `leaseMs`, every third of it, for as long as the lock is held. Shorter than
   * `lockWatchdogTimeout`: a crashed holder blocks the lock for less time, with more renewals. Default: only without
   * `leaseMs`, of the call and of the client.
   */
  renew?: boolean | undefined
  /** Ends the wait; the call rejects with its reason. */
  signal?: AbortSignal | undefined
  /**
   * The call rejects with LockBusyError at once, instead of waiting, where so many wait for the lock already; also
   * `tryLock` and `tryAcquire` with a wait. 0: it never waits. Exact for fair locks; for the others so many wait at least:
   * callers of this client, and each other client that waits as one. Default: the client's `maxWaiting`, else no bound.
   */
  maxWaiting?: number | undefined
}

const ACQUIRE_OPTIONS: KnownKeys<AcquireOptions> = {
  waitMs: true,
  leaseMs: true,
  renew: true,
  signal: true,
  maxWaiting: true,
}

/** The limits of a call, for one lock or for several. */
export interface CallLimits {
  /** undefined: no limit; 0: one attempt. */
  readonly waitMs: number | undefined
  /** undefined: that of the watchdog. */
  readonly leaseMs: number | undefined
  readonly renews: boolean
  readonly signal: AbortSignal | undefined
  /** undefined: no bound. */
  readonly maxWaiting: number | undefined
  /** It waits without a limit that was asked for. */
  readonly isUnlimited: boolean
}

/** The defaults of a call, as its client has them. */
export type CallDefaults = Pick<CallLimits, 'leaseMs' | 'maxWaiting'>

/** The limits of most calls. */
const NO_LIMITS: CallLimits = {
  waitMs: undefined,
  leaseMs: undefined,
  renews: true,
  signal: undefined,
  maxWaiting: undefined,
  isUnlimited: true,
}

const NO_OPTIONS: AcquireOptions = {}

/**
 * @param options undefined: the defaults, which its client has checked
 * @param usualWaitMs the wait if the options have none, ms; undefined: no limit
 * @param contexts adds the signals of the contexts around the call
 * @throws InvalidArgumentError
 */
export function limitsOf(
  options: AcquireOptions | undefined,
  usualWaitMs: number | undefined,
  defaults: CallDefaults,
  contexts: { signalBeside(signal: AbortSignal | undefined): AbortSignal | undefined },
): CallLimits {
  if (options !== undefined) {
    checkOptions('options', options, ACQUIRE_OPTIONS)
    checkWait('waitMs', options.waitMs)
    if (options.maxWaiting !== undefined) {
      checkMaxWaiting(options.maxWaiting)
    }
  }
  const {
    waitMs = usualWaitMs,
    leaseMs = defaults.leaseMs,
    renew = leaseMs === undefined,
    signal: given,
    maxWaiting = defaults.maxWaiting,
  } = options ?? NO_OPTIONS
  if (leaseMs !== undefined) {
    checkLevelLease(leaseMs)
  }
  if (options?.renew !== undefined) {
    checkRenew(renew, leaseMs)
  }
  const signal = contexts.signalBeside(given === undefined ? given : nativeSignal(given))
  if (waitMs === undefined && leaseMs === undefined && !signal && maxWaiting === undefined) {
    return NO_LIMITS
  }
  const isUnlimited = waitMs === undefined
  const limitMs = waitMs === Infinity ? undefined : waitMs
  return { waitMs: limitMs, leaseMs, renews: renew, signal, maxWaiting, isUnlimited }
}

/** @throws InvalidArgumentError nothing would end a lease that has no length and is not renewed */
export function checkRenew(renew: unknown, leaseMs: unknown): void {
  if (typeof renew !== 'boolean') {
    throw new InvalidArgumentError('renew', renew, 'true or false')
  }
  if (!renew && leaseMs === undefined) {
    const rule = 'left out, or given with a leaseMs: a lease that is not renewed needs a length of its own'
    throw new InvalidArgumentError('renew', renew, rule)
  }
}

/** Redisson users think in seconds: a lease this short is more likely a mistake. */
export function checkLevelLease(leaseMs: number | undefined): void {
  checkLease('leaseMs', leaseMs)
  if (leaseMs !== undefined && leaseMs < SHORT_LEASE_MS && warned.take('process')) {
    warn(SHORT_LEASE, `A lease of ${leaseMs} ms was asked for. ${IN_MS}`)
  }
}

/** Called once per client: this is the lease of everything it acquires without one. */
export function warnOfShortWatchdog(lockWatchdogTimeout: number): void {
  if (lockWatchdogTimeout < SHORT_LEASE_MS) {
    warn(SHORT_LEASE, `A client has a lockWatchdogTimeout of ${lockWatchdogTimeout} ms. ${IN_MS}`)
  }
}
