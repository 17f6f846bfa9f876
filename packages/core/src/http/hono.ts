import { LockHttpError, RequestAbortedError, lockHttpError, type LockErrorAnswers } from './http-error.js'
import { checkHttpOptions, type HttpLocksOptions } from './http-options.js'
import { checkOpener, runForRequest, type ContextOpener } from './request-context.js'

/** What is used of Hono's context. */
export interface HonoContextLike {
  readonly req: { readonly raw: { readonly signal: AbortSignal } }
  readonly error: Error | undefined
  res: Response
}

export type HonoMiddleware = (c: HonoContextLike, next: () => Promise<void>) => Promise<void>

/**
 * A context for each request: `app.use(honoLocks(locks))`, before all that takes locks. It ends when the handler has
 * ended, before a streamed body does; where the client goes before, the waits of the request end with a
 * RequestAbortedError. With `errors` the answer to an error of a lock is made here, whatever `onError` made of it.
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

/** The request's own, with a reason that is known. */
function signalOf(request: AbortSignal): AbortSignal {
  const controller = new AbortController()
  const end = (): void => controller.abort(new RequestAbortedError())
  if (request.aborted) {
    end()
  }
  request.addEventListener('abort', end, { once: true })
  return controller.signal
}
