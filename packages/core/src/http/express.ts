import { checkAnswers, lockHttpError, type LockErrorAnswers } from './http-error.js'
import { checkOpener, runUntilAnswered, type ContextOpener, type NodeResponse } from './request-context.js'

export type ExpressMiddleware = (request: unknown, response: NodeResponse, next: () => void) => void
export type ExpressErrorMiddleware = (
  error: unknown,
  request: unknown,
  response: unknown,
  next: (error: unknown) => void,
) => void

/**
 * A context for each request, for Express and whatever has its kind of middleware: `app.use(expressLocks(locks))`,
 * before all that takes locks. The context ends with the response; where the client goes before, the waits of the
 * request end with a RequestAbortedError.
 * @throws InvalidArgumentError
 */
export function expressLocks(locks: ContextOpener): ExpressMiddleware {
  checkOpener(locks)
  return (_request, response, next) => runUntilAnswered(locks, response, next)
}

/**
 * Gives errors of locks their status: `app.use(expressLockErrors())`, after the routes and before other error
 * handlers. See `lockHttpError`.
 * @throws InvalidArgumentError
 */
export function expressLockErrors(answers: LockErrorAnswers = {}): ExpressErrorMiddleware {
  checkAnswers(answers)
  // Express knows it by its four parameters.
  return (error, _request, _response, next) => next(lockHttpError(error, answers))
}
