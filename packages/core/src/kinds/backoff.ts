import { InvalidArgumentError } from '../errors.js'
import { LOCK_OPTIONS, type LockOptions } from './lock-options.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkDuration, checkObject, checkOneOf, checkOptions } from '../arguments/validate.js'
import { jittered } from '../runtime/runtime.js'

/**
 * Growing pauses: after the n-th refusal in a row `initialMs * factor^(n-1)`, at most `maxMs`, of which between half
 * and all is used, at random ("equal jitter": Marc Brooker, "Exponential Backoff and Jitter", 2015).
 */
export interface ExponentialBackoff {
  kind: 'exponential'
  /** The first pause, ms. Default 1, or `maxMs` if that is less. Timers have a resolution of 1 ms. */
  initialMs?: number | undefined
  /** The longest pause, ms. Default 128, or `initialMs` if that is more. Shorter: faster, with more load on Redis. */
  maxMs?: number | undefined
  /** At least 1. Default 2. */
  factor?: number | undefined
}

/** Pauses of constant length. */
export interface ConstantBackoff {
  kind: 'constant'
  /** Default 64 ms. */
  delayMs?: number | undefined
}

/** Options of a spin lock: of any lock, and its backoff. */
export interface SpinLockOptions extends LockOptions {
  /** How the first waiter of a client pauses between attempts. Default: exponential. */
  backoff?: ExponentialBackoff | ConstantBackoff | undefined
}

const SPIN_LOCK_OPTIONS: KnownKeys<SpinLockOptions> = { backoff: true, ...LOCK_OPTIONS }
const CONSTANT_BACKOFF: KnownKeys<ConstantBackoff> = { kind: true, delayMs: true }
const EXPONENTIAL_BACKOFF: KnownKeys<ExponentialBackoff> = {
  kind: true,
  initialMs: true,
  maxMs: true,
  factor: true,
}

/** The pause after a number of refusals in a row, ms. `random`: uniform in [0, 1). */
export type Backoff = (refusals: number, random: () => number) => number

/** @throws InvalidArgumentError */
export function backoffOf(options: SpinLockOptions = {}): Backoff {
  checkOptions('options', options, SPIN_LOCK_OPTIONS)
  const { backoff } = options
  if (backoff === undefined) {
    return BY_DEFAULT
  }
  checkObject('backoff', backoff)
  checkOneOf('backoff.kind', backoff.kind, ['exponential', 'constant'])
  return backoff.kind === 'constant' ? constant(backoff) : exponential(backoff)
}

function constant(given: ConstantBackoff): Backoff {
  checkOptions('backoff', given, CONSTANT_BACKOFF)
  const { delayMs = 64 } = given
  checkDuration('delayMs', delayMs, 'positive')
  return () => delayMs
}

function exponential(given: ExponentialBackoff): Backoff {
  checkOptions('backoff', given, EXPONENTIAL_BACKOFF)
  const { initialMs, maxMs, factor = 2 } = given
  checkDuration('initialMs', initialMs, 'positive')
  checkDuration('maxMs', maxMs, 'positive')
  const first = initialMs ?? Math.min(1, maxMs ?? 1)
  const longest = maxMs ?? Math.max(128, first)
  if (first > longest) {
    throw new InvalidArgumentError('initialMs', first, `at most maxMs, which is ${longest}`)
  }
  if (!(factor >= 1 && Number.isFinite(factor))) {
    throw new InvalidArgumentError('factor', factor, 'a finite number of at least 1')
  }
  return (refusals, random) => jittered(Math.min(first * factor ** (refusals - 1), longest), random())
}

/**
 * Created once: spin locks have short-lived names, so the object is created about as often as the lock is acquired.
 */
const BY_DEFAULT = exponential({ kind: 'exponential' })
