import { lockHttpError, type LockErrorAnswers } from './http-error.js'
import { checkHttpOptions, type HttpLocksOptions } from './http-options.js'
import { checkOpener, runUntilAnswered, type ContextOpener, type NodeResponse } from './request-context.js'

type Hook = (request: object, reply: { readonly raw: NodeResponse }, done: () => void) => void

/** What is used of a Fastify instance. */
export interface FastifyInstanceLike {
  addHook(name: 'onRequest', hook: Hook): unknown
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- Fastify's own types of it, whatever they are
  readonly errorHandler: (error: any, request: any, reply: any) => void
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as above
  setErrorHandler(handler: (error: any, request: any, reply: any) => unknown): unknown
}

export type FastifyLocksPlugin = (app: FastifyInstanceLike, options: unknown, done: () => void) => void

/**
 * A context for each request: `await app.register(fastifyLocks(locks))`, before the routes. It holds from the hook
 * `onRequest` on and ends with the response; where the client goes before, the waits of the request end with a
 * RequestAbortedError. With `errors` it stands before the error handler that is there when it is registered.
 * @throws InvalidArgumentError
 */
export function fastifyLocks(locks: ContextOpener, options: HttpLocksOptions = {}): FastifyLocksPlugin {
  checkOpener(locks)
  checkHttpOptions(options)
  const { errors } = options
  const plugin: FastifyLocksPlugin = (app, _options, done) => {
    app.addHook('onRequest', (_request, { raw }, next) => runUntilAnswered(locks, raw, next))
    if (errors) {
      answerErrors(app, errors)
    }
    done()
  }
  // For the instance it is registered with, and not for a scope of its own: what fastify-plugin does.
  return Object.assign(plugin, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: '@holdfast/core/http',
  })
}

function answerErrors(app: FastifyInstanceLike, answers: LockErrorAnswers): void {
  const before = app.errorHandler.bind(app)
  app.setErrorHandler((error: unknown, request: unknown, reply: unknown) =>
    before(lockHttpError(error, answers), request, reply),
  )
}
