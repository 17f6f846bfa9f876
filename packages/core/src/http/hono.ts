import { LockHttpError, RequestAbortedError, lockHttpError, type LockErrorAnswers } from './http-error.js'
import { checkHttpOptions, type HttpLocksOptions } from './http-options.js'
import { checkOpener, runForRequest, type ContextOpener } from './request-context.js'

/** The part of Hono's context used here. */
export interface HonoContextLike {
  readonly req: { readonly raw: { readonly signal: AbortSignal } }
  readonly error: Error | undefined
  res: Response
}

/** Middleware of Hono. */
export type HonoMiddleware = (c: HonoContextLike, next: () => Promise<void>) => Promise<void>

/**
 * Makes middleware that gives each request its own context: `app.use(honoLocks(locks))`, before any handler that
 * uses locks. The context ends with the handler, before a streamed body does; if the client disconnects first, the
 * request's waits fail with RequestAbortedError. With `errors`, it answers lock errors itself, overriding
 * `onError`.
 * @throws InvalidArgumentError
 */
export function honoLocks(locks: ContextOpener, options: HttpLocksOptions = {}): HonoMiddleware {
  checkOpener(locks)
  checkHttpOptions(options)
  const { errors } = options
  return (c, next) =>
    runForRequest(
      locks,
      c.req.raw,
      async () => {
        await next()
        if (errors) {
          answer(c, errors)
        }
      },
      signalOf(c.req.raw.signal),
    )
}

/** Hono has caught the error by then. */
function answer(c: HonoContextLike, answers: LockErrorAnswers): void {
  const error = lockHttpError(c.error, answers)
  if (error instanceof LockHttpError) {
    c.res = error.getResponse()
  }
}

/** Follows the request's own signal, with a reason of ours. */
function signalOf(request: AbortSignal): AbortSignal {
  const controller = new AbortController()
  const end = (): void => controller.abort(new RequestAbortedError())
  if (request.aborted) {
    end()
  }
  request.addEventListener('abort', end, { once: true })
  return controller.signal
}
