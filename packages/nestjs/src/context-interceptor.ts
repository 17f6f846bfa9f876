import { HttpException, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common'
import type { LockClient } from '@holdfast/core'
import { LockHttpError, lockHttpError, type LockErrorAnswers } from '@holdfast/core/http'
import { Observable } from 'rxjs'

/** What the platform answers with: Express's response, or Fastify's reply around the raw one. */
interface HeaderTarget {
  readonly headersSent?: boolean
  readonly raw?: { readonly headersSent?: boolean }
  header?(name: string, value: string): unknown
}

/**
 * A context for each call of a handler, of HTTP, of microservices and of gateways. For HTTP it is that which the
 * middleware has opened, and the guards have been in.
 */
export class ContextInterceptor implements NestInterceptor {
  constructor(
    private readonly locks: LockClient,
    private readonly errors: LockErrorAnswers | undefined,
  ) {}

  intercept(execution: ExecutionContext, next: CallHandler): Observable<unknown> {
    return new Observable((subscriber) => {
      // Its context lasts until there is nothing to come, or nobody who wants it.
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
      void this.locks.run(settle)
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
    // A handler that streams has begun its answer: setting a header would throw inside rxjs, and end the process. Nest
    // itself ends such a response.
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
