import { WrongTypeError } from '../errors.js'

/** What Redis says of a key that has something else, with the kind that it should be of: `what`. */
export function namingKind(error: unknown, what: string): unknown {
  return error instanceof WrongTypeError
    ? new WrongTypeError(error.lockName ?? '', error.key, error.cause as Error, what)
    : error
}
