import { checkAnswers, lockHttpError, type LockErrorAnswers } from './http-error.js'
import { checkRequestOptions, type RequestOptions } from './http-options.js'
import {
  checkOpener,
  RequestSignals,
  runUntilAnswered,
  type ContextOpener,
  type NodeResponse,
} from './request-context.js'

/** Middleware of Express and compatible frameworks. */
export type ExpressMiddleware = (request: unknown, response: NodeResponse, next: () => void) => void
/** Error middleware of Express. */
export type ExpressErrorMiddleware = (
  error: unknown,
  request: unknown,
  response: unknown,
  next: (error: unknown) => void,
) => void

/**
 * Makes middleware that gives each request its own context, for Express and compatible frameworks:
 * `app.use(expressLocks(locks))`, before any handler that uses locks. The context ends with the response; if the
 * client disconnects first, the request's waits fail with RequestAbortedError.
 * @throws InvalidArgumentError
 */
export function expressLocks(locks: ContextOpener, options: RequestOptions = {}): ExpressMiddleware {
  checkOpener(locks)
  checkRequestOptions(options)
  const signals = new RequestSignals(options.signal)
  return (_request, response, next) => runUntilAnswered(locks, response, { next, signals })
}

/**
 * Makes error middleware that gives lock errors an HTTP status: `app.use(expressLockErrors())`, after the routes
 * and before other error handlers. See `lockHttpError`.
 * @throws InvalidArgumentError
 */
export function expressLockErrors(answers: LockErrorAnswers = {}): ExpressErrorMiddleware {
  checkAnswers(answers)
  // Express recognizes error middleware by its four parameters.
  return (error, _request, _response, next) => next(lockHttpError(error, answers))
}
