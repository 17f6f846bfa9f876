import { InvalidArgumentError } from '../errors.js'

const GENERATORS = ['[object GeneratorFunction]', '[object AsyncGeneratorFunction]']
const RULE =
  'on a method that returns a promise. A generator, an async iterable and an Observable do their work when they are read, ' +
  'after the lock was released: acquire it where they are read, as in `const hold = await lock.acquire()` at the ' +
  'beginning of the generator and `await hold.release()` in its `finally`'

/** @throws InvalidArgumentError for a generator function; a compiler may have turned it into a plain function */
export function refuseGenerator(method: unknown): void {
  if (GENERATORS.includes(Object.prototype.toString.call(method))) {
    throw new InvalidArgumentError('@Locked', method, RULE)
  }
}

/**
 * Returns the result of a method unless it is lazy: its work would be done while the caller reads it, after the lock
 * was released, without any error.
 * @throws InvalidArgumentError
 */
export function refuseLazy<T>(result: T): T {
  const given = result as Partial<Lazy> | null | undefined
  if (typeof given === 'object' && given !== null && typeof given.then !== 'function' && isLazy(given)) {
    throw new InvalidArgumentError('@Locked', result, RULE)
  }
  return result
}

interface Lazy {
  readonly then: unknown
  readonly next: unknown
  readonly throw: unknown
  readonly [Symbol.iterator]: unknown
  readonly [Symbol.asyncIterator]: unknown
  /** The property rxjs uses when Symbol.observable is not defined. */
  readonly '@@observable': unknown
}

function isLazy(given: Partial<Lazy>): boolean {
  const observable = (Symbol as { readonly observable?: symbol }).observable ?? '@@observable'
  return (
    isFunction(given[Symbol.asyncIterator]) ||
    // Maps and Sets are iterable too, but complete: only generators have `throw`.
    (isFunction(given[Symbol.iterator]) && isFunction(given.next) && isFunction(given.throw)) ||
    isFunction((given as Record<PropertyKey, unknown>)[observable])
  )
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}
