import { InvalidArgumentError } from '../errors.js'

const GENERATORS = ['[object GeneratorFunction]', '[object AsyncGeneratorFunction]']
const RULE =
  'on a method that gives a promise. A generator, an async iterable and an Observable do their work when they are read, ' +
  'after the lock was given back: take it where they are read, as in `const hold = await lock.acquire()` at the ' +
  'beginning of the generator and `await hold.release()` in its `finally`'

/** @throws InvalidArgumentError for what is a generator by its syntax; a compiler may have made another function of it */
export function refuseGenerator(method: unknown): void {
  if (GENERATORS.includes(Object.prototype.toString.call(method))) {
    throw new InvalidArgumentError('@Locked', method, RULE)
  }
}

/**
 * What a method gives is passed on, unless its work only begins when it is read: then its caller would read it without
 * the lock, and nothing would tell.
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
  /** Of rxjs, where nobody has defined Symbol.observable. */
  readonly '@@observable': unknown
}

function isLazy(given: Partial<Lazy>): boolean {
  const observable = (Symbol as { readonly observable?: symbol }).observable ?? '@@observable'
  return (
    isFunction(given[Symbol.asyncIterator]) ||
    // A Map and a Set can be iterated, too, and are there already: only generators have `throw`.
    (isFunction(given[Symbol.iterator]) && isFunction(given.next) && isFunction(given.throw)) ||
    isFunction((given as Record<PropertyKey, unknown>)[observable])
  )
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}
