import { InvalidArgumentError } from '../../index.js'
import { refuseGenerator, refuseLazyMethod } from '../door.js'
import { namingByMethod, namingByTemplate, type LockNaming } from './lock-name.js'
import { lockedCall, type Guard } from './locked-call.js'
import type { LockedDecorator, SkippingDecorator } from './locked-decorator.js'
import { checkLockedOptions, type LockedOptions } from './locked-options.js'

/** Options under which a call is never skipped. */
export interface NeverSkipped {
  readonly onBusy?: 'throw' | 'wait' | undefined
  readonly onRedisError?: 'throw' | 'run' | undefined
}

type Method = (this: unknown, ...args: unknown[]) => unknown

/**
 * Runs each call of a method under a lock, like `withLock`: nested calls re-enter, recursion included, and concurrent
 * calls exclude each other. A synchronous method becomes asynchronous.
 * @throws InvalidArgumentError at once for invalid options, and for a generator, whose work would be done after the
 *   release
 * @throws as `withLock`, from each call; InvalidArgumentError when a value is missing for the name, or the result is
 *   an async iterable or an Observable
 */
export function Locked<Args extends readonly unknown[] = []>(
  options?: LockedOptions<Args> & NeverSkipped,
): LockedDecorator<Args>
export function Locked<Args extends readonly unknown[] = []>(
  options: LockedOptions<Args>,
): SkippingDecorator<Args>
export function Locked(options: LockedOptions<never> = {}): LockedDecorator<never> {
  checkLockedOptions(options)
  const guard = options as LockedOptions<unknown[]>
  const template = typeof guard.name === 'string' ? namingByTemplate(guard.name) : undefined
  const decorate = (...decorated: unknown[]): unknown => {
    const { method, key, legacy } = readDecorated(decorated)
    const replacement = replace(method, key, guard, template)
    if (!legacy) {
      return replacement
    }
    copyMetadata(method, replacement)
    return { ...legacy, value: replacement }
  }
  return decorate as LockedDecorator<never>
}

function replace(
  method: Method,
  key: string | symbol,
  options: LockedOptions<unknown[]>,
  template: LockNaming | undefined,
): Method {
  refuseGenerator(method)
  const replacement = function (this: unknown, ...args: unknown[]): Promise<unknown> {
    return lockedCall(guard, this, args, () => refuseLazyMethod(method.apply(this, args)))
  }
  const guard: Guard = { options, naming: template ?? namingOf(options, key, () => replacement) }
  Object.defineProperty(replacement, 'name', { value: method.name, configurable: true })
  Object.defineProperty(replacement, 'length', { value: method.length, configurable: true })
  return replacement
}

function namingOf(
  { name }: LockedOptions<unknown[]>,
  key: string | symbol,
  replacement: () => unknown,
): LockNaming {
  return typeof name === 'function' ? (_self, args) => name(...args) : namingByMethod(key, replacement)
}

interface Decorated {
  readonly method: Method
  readonly key: string | symbol
  /** The property's descriptor, under `experimentalDecorators`. */
  readonly legacy: PropertyDescriptor | null
}

/** The arguments show which decorator standard is in use. @throws InvalidArgumentError not on a method */
function readDecorated([first, second, third]: readonly unknown[]): Decorated {
  const context = second as DecoratorContext | string | symbol | undefined
  if (typeof context === 'object' && typeof first === 'function') {
    if (context.kind === 'method') {
      return { method: first as Method, key: context.name, legacy: null }
    }
  } else if (typeof context === 'string' || typeof context === 'symbol') {
    const legacy = third as PropertyDescriptor | undefined
    const method: unknown = legacy?.value
    if (legacy && typeof method === 'function') {
      return { method: method as Method, key: context, legacy }
    }
  }
  throw new InvalidArgumentError('@Locked', first, 'on a method of a class, as in @Locked() async pay() {}')
}

/** Frameworks store metadata on the function, as Nest its routes; their decorators may be applied below this one. */
function copyMetadata(from: object, to: object): void {
  const { getOwnMetadataKeys, getOwnMetadata, defineMetadata } = Reflect as Partial<MetadataReflection>
  if (getOwnMetadataKeys && getOwnMetadata && defineMetadata) {
    for (const key of getOwnMetadataKeys(from)) {
      defineMetadata(key, getOwnMetadata(key, from), to)
    }
  }
}

/** The functions reflect-metadata adds to Reflect, if loaded. */
interface MetadataReflection {
  getOwnMetadataKeys(target: object): unknown[]
  getOwnMetadata(key: unknown, target: object): unknown
  defineMetadata(key: unknown, value: unknown, target: object): void
}
