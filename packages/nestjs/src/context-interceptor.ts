import { HttpException, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common'
import type { LockClient } from '@holdfast/core'
import { LockHttpError, lockHttpError, type HttpLocksOptions } from '@holdfast/core/http'
import { Observable } from 'rxjs'

/** The platform's response: Express's, or Fastify's reply around the raw one. */
interface HeaderTarget {
  readonly headersSent?: boolean
  readonly raw?: { readonly headersSent?: boolean }
  header?(name: string, value: string): unknown
}

/**
 * Gives each call of a handler its own context, for HTTP, microservices and gateways. For HTTP it is the context that
 * the middleware has opened for the request, and that the guards ran in.
 */
export class ContextInterceptor implements NestInterceptor {
  constructor(
    private readonly locks: LockClient,
    private readonly errors: HttpLocksOptions['errors'],
    private readonly ending: AbortSignal,
  ) {}

  intercept(execution: ExecutionContext, next: CallHandler): Observable<unknown> {
    return new Observable((subscriber) => {
      // The context lasts until the handler has completed, or its subscriber has unsubscribed.
      const settle = (): Promise<void> =>
        new Promise((resolve) => {
          subscriber.add(resolve)
          const inner = next.handle().subscribe({
            next: (value) => subscriber.next(value),
            error: (error: unknown) => subscriber.error(this.answerFor(error, execution)),
            complete: () => subscriber.complete(),
          })
          subscriber.add(inner)
        })
      // The middleware has given a request its signal, and a second one would cost each of its waits.
      const signal = this.locks.currentThreadId === undefined ? this.ending : undefined
      void this.locks.run(settle, { signal })
    })
  }

  private answerFor(error: unknown, execution: ExecutionContext): unknown {
    if (!this.errors || execution.getType() !== 'http') {
      return error
    }
    const answer = lockHttpError(error, this.errors)
    if (!(answer instanceof LockHttpError)) {
      return error
    }
    const response = execution.switchToHttp().getResponse<HeaderTarget>()
    // A streaming handler has started its response: setting a header would throw inside rxjs, and end the process.
    // Nest itself ends such a response.
    if (response.headersSent === true || response.raw?.headersSent === true) {
      return error
    }
    for (const [name, value] of Object.entries(answer.headers)) {
      response.header?.(name, value)
    }
    const { code, message, status: statusCode } = answer
    return new HttpException({ statusCode, message, code }, statusCode, { cause: error })
  }
}
