import { InvalidArgumentError } from '../errors.js'
import { checkWork } from './lazy-result.js'
import { isSignal } from './native-signal.js'
import { unknownKey } from './unknown-key.js'

const MAX_NAME_BYTES = 1024
// Node's timers overflow above this: 2^31 - 1 ms, 24 days.
const MAX_DURATION_MS = 2_147_483_647

/** Lock names: non-empty strings of at most 1 KiB of UTF-8. */
export function checkName(value: unknown, rule = 'a non-empty string'): asserts value is string {
  if (typeof value !== 'string' || value.length === 0) {
    throw new InvalidArgumentError('name', value, rule)
  }
  if (value.length * 3 > MAX_NAME_BYTES && Buffer.byteLength(value) > MAX_NAME_BYTES) {
    throw new InvalidArgumentError(
      'name',
      value,
      `at most ${MAX_NAME_BYTES} bytes of UTF-8: use a hash of it`,
    )
  }
}

/** Durations in ms; `undefined` means that the argument was not given. */
export function checkDuration(argument: string, value: unknown, min: 'zero' | 'positive'): void {
  if (value === undefined) {
    return
  }
  if (
    typeof value !== 'number' ||
    !(value >= 0) ||
    value > MAX_DURATION_MS ||
    (min === 'positive' && value === 0)
  ) {
    const least = min === 'zero' ? 'not negative' : 'greater than 0'
    throw new InvalidArgumentError(
      argument,
      value,
      `a number of milliseconds, ${least} and at most ${MAX_DURATION_MS}, which is 24 days: Node has no longer timers`,
    )
  }
}

/** How long to wait: Infinity is without a limit, also where the client has a default. */
export function checkWait(argument: string, value: unknown): void {
  if (value !== Infinity) {
    checkDuration(argument, value, 'zero')
  }
}

/** Redis counts leases in whole milliseconds. */
export function checkLease(argument: string, value: unknown): void {
  checkDuration(argument, value, 'positive')
  if (typeof value === 'number' && !Number.isInteger(value)) {
    throw new InvalidArgumentError(argument, value, 'a whole number of milliseconds')
  }
}

/** A lease without a default. */
export function checkGivenLease(argument: string, value: unknown): void {
  if (value === undefined) {
    throw new InvalidArgumentError(argument, value, 'given, in milliseconds')
  }
  checkLease(argument, value)
}

export function checkObject(argument: string, value: unknown): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidArgumentError(argument, value, 'an object')
  }
}

/**
 * Checks that options have known keys only: a misspelt key would silently have no effect. For packages built on this
 * one. The error suggests the nearest known key.
 * @throws InvalidArgumentError naming `argument`; also if it is not an object
 */
export function checkOptions(
  argument: string,
  options: unknown,
  known: Readonly<Record<string, true | undefined>>,
): void {
  // On the path of every acquire: valid options must not allocate.
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new InvalidArgumentError(argument, options, `an object, of ${namesOf(known)}`)
  }
  // A signal has no enumerable keys, so it would pass; and the wait it was meant to end would never end.
  if (isSignal(options)) {
    throw new InvalidArgumentError(argument, options, 'an object; pass a signal as { signal }')
  }
  for (const key in options) {
    if (known[key] !== true && Object.hasOwn(options, key)) {
      throw unknownKey(argument, options, key, Object.keys(known))
    }
  }
}

const MOST_KEYS_TOLD = 6

function namesOf(known: Readonly<Record<string, true | undefined>>): string {
  const keys = Object.keys(known)
  const more = keys.length > MOST_KEYS_TOLD ? ', …' : ''
  return `{ ${keys.slice(0, MOST_KEYS_TOLD).join(', ')}${more} }`
}

/** Checks for methods, not for a class: the object may come from another copy of this package. */
export function checkMethods(
  argument: string,
  value: unknown,
  methods: readonly string[],
  rule: string,
): void {
  const given = value as Record<string, unknown> | null
  if (typeof given !== 'object' || !methods.every((method) => typeof given?.[method] === 'function')) {
    throw new InvalidArgumentError(argument, value, rule)
  }
}

const GETTER: readonly string[] = ['getLock']
const A_CLIENT = 'a LockClient, as from LockClient.connect(url)'

/** Test doubles with the methods are accepted. */
export function checkClient(argument: string, value: unknown, methods = GETTER, rule = A_CLIENT): void {
  checkMethods(argument, value, methods, rule)
}

export function checkFunction(argument: string, value: unknown, rule = 'a function'): void {
  if (typeof value !== 'function') {
    throw new InvalidArgumentError(argument, value, rule)
  }
}

/** Checks the arguments of `withLock`: other libraries take the options first. */
export function checkCallback(value: unknown): void {
  checkWork('callback', value, 'a function and come before the options, as in withLock(callback, { waitMs })')
}

export function checkOneOf(argument: string, value: unknown, allowed: readonly unknown[]): void {
  if (!allowed.includes(value)) {
    const named = allowed.filter((each) => each !== undefined).map((each) => JSON.stringify(each))
    throw new InvalidArgumentError(argument, value, `one of ${named.join(', ')}`)
  }
}

export function checkInteger(argument: string, value: unknown, min: number, max = Infinity): void {
  if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max) {
    const range = max === Infinity ? `of at least ${min}` : `from ${min} to ${max}`
    throw new InvalidArgumentError(argument, value, `an integer ${range}`)
  }
}

/** undefined: no bound. */
export function checkMaxWaiting(value: unknown): void {
  if (value !== undefined) {
    checkInteger('maxWaiting', value, 0)
  }
}

/** Thread ids start at 1. */
export function checkThreadId(value: unknown): void {
  checkInteger('threadId', value, 1)
}
