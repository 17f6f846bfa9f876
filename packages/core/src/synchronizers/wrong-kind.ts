import { WrongTypeError } from '../errors.js'

/** Redis's error about a key of another type, with the expected kind of object: `what`. */
export function namingKind(error: unknown, what: string): unknown {
  return error instanceof WrongTypeError
    ? new WrongTypeError(error.lockName ?? '', error.key, error.cause as Error, what)
    : error
}
