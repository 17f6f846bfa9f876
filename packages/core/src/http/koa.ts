import { lockHttpError } from './http-error.js'
import { checkHttpOptions, type HttpLocksOptions } from './http-options.js'
import {
  checkOpener,
  runForRequest,
  signalOf,
  type ContextOpener,
  type NodeResponse,
} from './request-context.js'

export type KoaMiddleware = (
  ctx: { readonly res: NodeResponse },
  next: () => Promise<unknown>,
) => Promise<void>

/**
 * A context for each request: `app.use(koaLocks(locks))`, before all that takes locks. It ends when the middleware
 * below has ended; where the client goes before, the waits of the request end with a RequestAbortedError.
 * @throws InvalidArgumentError
 */
export function koaLocks(locks: ContextOpener, options: HttpLocksOptions = {}): KoaMiddleware {
  checkOpener(locks)
  checkHttpOptions(options)
  const { errors } = options
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
      signalOf(res),
    )
}
