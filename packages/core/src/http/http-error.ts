import type { LockErrorCode } from '../errors.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkDuration, checkOneOf, checkOptions } from '../arguments/validate.js'

/** How errors of locks become answers. */
export interface LockErrorAnswers {
  /** For a lock that was busy past its wait. Default 409 (Conflict); 423 is Locked, of WebDAV. */
  readonly busyStatus?: 409 | 423 | undefined
  /** What `Retry-After` says, ms, in whole seconds and rounded up. Default 1,000. */
  readonly retryAfterMs?: number | undefined
}

const LOCK_ERROR_ANSWERS: KnownKeys<LockErrorAnswers> = { busyStatus: true, retryAfterMs: true }

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

/**
 * An error that says how it is answered: Express, Fastify, Koa and Hono all read it. Its message says nothing about
 * who holds what; `cause` does.
 */
export class LockHttpError extends Error {
  readonly status: number
  /** The same, under the name that Fastify and Express look for first. */
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  /** Koa may show the message. */
  readonly expose = true

  constructor(
    /** That of the error of a lock; `REQUEST_ABORTED` where the client has gone. */
    readonly code: LockErrorCode | 'REQUEST_ABORTED',
    message: string,
    { status, headers }: Answer,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = new.target.name
    this.status = status
    this.statusCode = status
    this.headers = headers
  }

  /** What Hono answers. */
  getResponse(): Response {
    const { status, headers, code, message } = this
    return Response.json({ code, message }, { status, headers })
  }
}

/** The client has gone: why the waits of its request ended. Nobody reads the answer; 499 is what logs know it by. */
export class RequestAbortedError extends LockHttpError {
  constructor() {
    super('REQUEST_ABORTED', 'The client closed the request.', { status: 499, headers: {} })
  }
}

/** @throws InvalidArgumentError */
export function checkAnswers(answers: LockErrorAnswers): void {
  checkOptions('errors', answers, LOCK_ERROR_ANSWERS)
  checkOneOf('busyStatus', answers.busyStatus, [undefined, 409, 423])
  checkDuration('retryAfterMs', answers.retryAfterMs, 'zero')
}

/**
 * For an error handler of one's own: a lock that was busy past its wait becomes 409 or 423, a Redis that does not
 * answer and a client that is closing become 503, all with `Retry-After`; a lock that was lost becomes 500, with its code
 * and without it. Any other error is given back as it is.
 * @throws InvalidArgumentError
 */
export function lockHttpError(error: unknown, answers: LockErrorAnswers = {}): unknown {
  checkAnswers(answers)
  const { busyStatus = 409, retryAfterMs = 1_000 } = answers
  // By its code: the client may come from another copy of this package.
  const { code = '' } = (error ?? {}) as { code?: string }
  const headers = { 'Retry-After': String(Math.ceil(retryAfterMs / 1_000)) }
  switch (code) {
    case 'LOCK_TIMEOUT':
      return new LockHttpError(code, BUSY, { status: busyStatus, headers }, { cause: error })
    case 'REDIS_UNAVAILABLE':
    case 'QUORUM':
    case 'CLIENT_CLOSED':
      return new LockHttpError(code, UNAVAILABLE, { status: 503, headers }, { cause: error })
    case 'LOCK_LOST':
      // The work may have been done in part: nobody is told to try again.
      return new LockHttpError(code, LOST, { status: 500, headers: {} }, { cause: error })
    default:
      return error
  }
}

const BUSY = 'Somebody else is at it. Try again later.'
const LOST = 'The lock was lost during the work, which may have been done in part.'
const UNAVAILABLE = 'Locks are not available. Try again later.'
