import { lockHttpError, type LockErrorAnswers } from './http-error.js'
import { checkHttpOptions, type HttpLocksOptions } from './http-options.js'
import {
  checkOpener,
  RequestSignals,
  runUntilAnswered,
  type ContextOpener,
  type NodeResponse,
} from './request-context.js'

type Hook = (request: object, reply: { readonly raw: NodeResponse }, done: () => void) => void

/** The part of a Fastify instance used here. */
export type FastifyInstanceLike = {
  addHook(name: 'onRequest', hook: Hook): unknown
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- any version's types of it
  readonly errorHandler: (error: any, request: any, reply: any) => void
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as above
  setErrorHandler(handler: (error: any, request: any, reply: any) => unknown): unknown
}

/** A plugin of Fastify. */
export type FastifyLocksPlugin = (app: FastifyInstanceLike, options: unknown, done: () => void) => void

/**
 * Makes a plugin that gives each request its own context: `await app.register(fastifyLocks(locks))`, before the
 * routes. The context lasts from the `onRequest` hook to the response; if the client disconnects first, the
 * request's waits fail with RequestAbortedError. With `errors`, it wraps the error handler present at registration.
 * @throws InvalidArgumentError
 */
export function fastifyLocks(locks: ContextOpener, options: HttpLocksOptions = {}): FastifyLocksPlugin {
  checkOpener(locks)
  checkHttpOptions(options)
  const { errors } = options
  const signals = new RequestSignals(options.signal)
  const plugin: FastifyLocksPlugin = (app, _options, done) => {
    app.addHook('onRequest', (_request, { raw }, next) => runUntilAnswered(locks, raw, { next, signals }))
    if (errors) {
      answerErrors(app, errors)
    }
    done()
  }
  // Applies to the registering instance instead of an encapsulated scope, as fastify-plugin does.
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
