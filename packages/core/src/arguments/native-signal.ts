import { InvalidArgumentError } from '../errors.js'

/** The native signal of each one of another making: one listener, however many calls are given it. */
const natives = new WeakMap<AbortSignal, AbortSignal>()

/**
 * By the signal of a context, the one that it follows with a reason of its own: a wait that is given both ends with the
 * reason of the context's, whichever the runtime aborts first.
 */
export const followed = new WeakMap<AbortSignal, AbortSignal>()

/**
 * Returns the signal as a native one, which `AbortSignal.any` takes. One of another making, such as a polyfill's or
 * another realm's, is followed by a native one. For packages built on this one.
 * @throws InvalidArgumentError it is no signal; undefined may be given
 */
export function nativeSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) {
    return signal
  }
  if (!isSignal(signal)) {
    throw new InvalidArgumentError('signal', signal, 'an AbortSignal, as of new AbortController()')
  }
  return natives.get(signal) ?? follow(signal)
}

/** By shape. On the path of every acquire: most objects lack the first property. */
export function isSignal(value: unknown): value is AbortSignal {
  const given = value as Partial<AbortSignal> | null | undefined
  return typeof given?.aborted === 'boolean' && typeof given.addEventListener === 'function'
}

function follow(signal: AbortSignal): AbortSignal {
  const controller = new AbortController()
  natives.set(signal, controller.signal)
  // Early polyfills have no reason: then the native one has its own, an AbortError.
  const abort = (): void => controller.abort(signal.reason)
  if (signal.aborted) {
    abort()
  } else {
    signal.addEventListener('abort', abort)
  }
  return controller.signal
}
