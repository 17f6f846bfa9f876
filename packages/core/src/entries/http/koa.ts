import { lockHttpError } from './http-error.js'
import { checkHttpOptions, type HttpLocksOptions } from './http-options.js'
import {
  checkOpener,
  RequestSignals,
  runForRequest,
  type ContextOpener,
  type NodeResponse,
} from './request-context.js'

/** Middleware of Koa. */
export type KoaMiddleware = (
  ctx: { readonly res: NodeResponse },
  next: () => Promise<unknown>,
) => Promise<void>

/**
 * Makes middleware that gives each request its own context: `app.use(koaLocks(locks))`, before any handler that
 * uses locks. The context ends with the middleware below; if the client disconnects first, the request's waits fail
 * with RequestAbortedError.
 * @throws InvalidArgumentError
 */
export function koaLocks(locks: ContextOpener, options: HttpLocksOptions = {}): KoaMiddleware {
  checkOpener(locks)
  checkHttpOptions(options)
  const { errors } = options
  const signals = new RequestSignals(options.signal)
  return ({ res }, next) =>
    runForRequest(
      locks,
      res,
      async () => {
        try {
          await next()
        } catch (error) {
          throw errors ? lockHttpError(error, errors) : error
        }
      },
      signals.ofResponse(res),
    )
}
