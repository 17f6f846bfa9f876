import { LockHttpError, lockHttpError, type LockErrorAnswers } from './http-error.js'
import { checkHttpOptions, type HttpLocksOptions } from './http-options.js'
import { checkOpener, RequestSignals, runForRequest, type ContextOpener } from './request-context.js'

/** The part of Hono's context used here. */
export type HonoContextLike = {
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
  const signals = new RequestSignals(options.signal)
  return (c, next) => {
    const request = signals.ofRequest(c.req.raw.signal)
    const run = async (): Promise<void> => {
      await next()
      if (errors) {
        answer(c, errors)
      }
    }
    return runForRequest(locks, c.req.raw, run, request.signal).finally(request.over)
  }
}

/** Hono has caught the error by then. */
function answer(c: HonoContextLike, answers: LockErrorAnswers): void {
  const error = lockHttpError(c.error, answers)
  if (error instanceof LockHttpError) {
    c.res = error.getResponse()
  }
}
