import { InvalidArgumentError } from '../errors.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkDuration, checkObject, checkOneOf, checkOptions } from '../arguments/validate.js'

/**
 * Pauses that grow: after the n-th refusal in a row `initialMs * factor^(n-1)`, at most `maxMs`; of that between half
 * and all, at random ("equal jitter": Marc Brooker, "Exponential Backoff and Jitter", 2015).
 */
export interface ExponentialBackoff {
  kind: 'exponential'
  /** The first pause, ms. Default 1, or `maxMs` if that is less. A timer knows nothing shorter than 1. */
  initialMs?: number | undefined
  /** The longest pause, ms. Default 128, or `initialMs` if that is more. Shorter: quicker, and more questions. */
  maxMs?: number | undefined
  /** From 1. Default 2. */
  factor?: number | undefined
}

/** Pauses of always the same length. */
export interface ConstantBackoff {
  kind: 'constant'
  /** Default 64 ms. */
  delayMs?: number | undefined
}

export interface SpinLockOptions {
  /** How the first waiter of a client pauses between its questions. Default: exponential. */
  backoff?: ExponentialBackoff | ConstantBackoff | undefined
}

const SPIN_LOCK_OPTIONS: KnownKeys<SpinLockOptions> = { backoff: true }
const CONSTANT_BACKOFF: KnownKeys<ConstantBackoff> = { kind: true, delayMs: true }
const EXPONENTIAL_BACKOFF: KnownKeys<ExponentialBackoff> = {
  kind: true,
  initialMs: true,
  maxMs: true,
  factor: true,
}

/** How long to pause after so many refusals in a row, ms. `random`: uniform in [0, 1). */
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
  return (refusals, random) => Math.min(first * factor ** (refusals - 1), longest) * (0.5 + random() / 2)
}

/** Made once: locks of names that live for a moment are made as often as they are taken. */
const BY_DEFAULT = exponential({ kind: 'exponential' })
