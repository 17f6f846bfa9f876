import { InvalidArgumentError } from '../errors.js'

const INSTEAD =
  'acquire it where they are read, as in `const hold = await lock.acquire()` at the beginning of the generator and ' +
  '`await hold.release()` in its `finally`'
const OF_METHOD =
  'on a method that returns a promise. A generator, an async iterable and an Observable do their work when they are ' +
  `read, after the lock was released: ${INSTEAD}`
const OF_WORK =
  'a function that returns a result or a promise of one. A generator and an async iterator do their work when they are ' +
  `read, after the function has ended and its lock was released: ${INSTEAD}`

/** Tells generator functions: a compiler may have turned one into a plain function. */
function isGenerator(work: unknown): boolean {
  const tag = (work as { readonly [Symbol.toStringTag]?: unknown } | null | undefined)?.[Symbol.toStringTag]
  return tag === 'AsyncGeneratorFunction' || tag === 'GeneratorFunction'
}

/** @throws InvalidArgumentError */
export function refuseGenerator(method: unknown): void {
  if (isGenerator(method)) {
    throw new InvalidArgumentError('@Locked', method, OF_METHOD)
  }
}

/**
 * Returns the result of a method unless it is lazy: its work would be done while the caller reads it, after the lock
 * was released, without any error.
 * @throws InvalidArgumentError
 */
export function refuseLazyMethod<T>(result: T): T {
  const given = result as Partial<Lazy> | null | undefined
  if (isObject(given) && !isFunction(given.then) && (isRead(given) || isIterator(given))) {
    throw new InvalidArgumentError('@Locked', result, OF_METHOD)
  }
  return result
}

/** Checks what runs under a lock or in a context. @throws InvalidArgumentError it is a generator, or no function */
export function checkWork(argument: string, work: unknown, rule = 'a function'): void {
  if (typeof work !== 'function') {
    throw new InvalidArgumentError(argument, work, rule)
  }
  if (isGenerator(work)) {
    throw new InvalidArgumentError(argument, work, OF_WORK)
  }
}

/**
 * Returns what a callback gave, unless it is an iterator whose work is still to be done. Streams and Observables pass:
 * many have begun, and frameworks return them.
 * @throws InvalidArgumentError
 */
export function refuseLazy<T>(argument: string, result: T): T {
  // On the path of every withLock: nothing is allocated.
  const given = result as Partial<Lazy> | null | undefined
  if (isObject(given) && isFunction(given.next) && isIterator(given)) {
    throw new InvalidArgumentError(argument, result, OF_WORK)
  }
  return result
}

interface Lazy {
  readonly then: unknown
  readonly next: unknown
  readonly throw: unknown
  readonly [Symbol.iterator]: unknown
  readonly [Symbol.asyncIterator]: unknown
  readonly [Symbol.toStringTag]: unknown
  /** The property rxjs uses when Symbol.observable is not defined. */
  readonly '@@observable': unknown
}

/** Maps and Sets are iterable too, but complete: only generators have `throw`, and helpers made of them that tag. */
function isIterator(given: Partial<Lazy>): boolean {
  return (
    isFunction(given[Symbol.asyncIterator]) ||
    (isFunction(given[Symbol.iterator]) &&
      isFunction(given.next) &&
      (isFunction(given.throw) || given[Symbol.toStringTag] === 'Iterator Helper'))
  )
}

function isRead(given: Partial<Lazy>): boolean {
  const observable = (Symbol as { readonly observable?: symbol }).observable ?? '@@observable'
  return isFunction((given as Record<PropertyKey, unknown>)[observable])
}

function isObject<T>(value: T | null | undefined): value is T {
  return typeof value === 'object' && value !== null
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}
