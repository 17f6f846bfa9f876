import { type LockErrorCode } from '../../index.js'
import { checkDuration, checkOneOf, type KnownKeys, checkOptions } from '../door.js'

/** How lock errors become HTTP responses. */
export interface LockErrorAnswers {
  /** Status when a lock was still busy at the end of the wait. Default 409 (Conflict); 423 is WebDAV's Locked. */
  readonly busyStatus?: 409 | 423 | undefined
  /** The `Retry-After` header in ms, sent in whole seconds, rounded up. Default 1,000. */
  readonly retryAfterMs?: number | undefined
}

const LOCK_ERROR_ANSWERS: KnownKeys<LockErrorAnswers> = { busyStatus: true, retryAfterMs: true }

interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

/**
 * An error with an HTTP status, in the form that Express, Fastify, Koa and Hono read. Its message does not reveal the
 * holder; `cause` does.
 */
export class LockHttpError extends Error {
  readonly status: number
  /** Same as `status`: the name that Fastify and Express check first. */
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  /** Lets Koa send the message. */
  readonly expose = true

  constructor(
    /** The lock error's code; `REQUEST_ABORTED` when the client has disconnected. */
    readonly code: LockErrorCode | 'REQUEST_ABORTED',
    message: string,
    { status, headers }: ErrorAnswer,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = new.target.name
    this.status = status
    this.statusCode = status
    this.headers = headers
  }

  /** Builds the response; Hono calls it. */
  getResponse(): Response {
    const { status, headers, code, message } = this
    return Response.json({ code, message }, { status, headers })
  }
}

/**
 * The reason that ends a request's waits when the client disconnects. No client reads the response; logs know status
 * 499.
 */
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
 * Converts a lock error into an error with an HTTP status, for custom error handlers. A lock still busy at the end of
 * the wait becomes 409 or 423; one for which too many wait already, a shared run that is not finished, an unreachable Redis or a closing client becomes 503;
 * all with `Retry-After`. A lost lock becomes 500, without it. Any other error is returned unchanged. Of two errors that
 * `await using` has joined in a SuppressedError, that of the work counts first.
 * @throws InvalidArgumentError
 */
export function lockHttpError(error: unknown, answers: LockErrorAnswers = {}): unknown {
  checkAnswers(answers)
  const { busyStatus = 409, retryAfterMs = 1_000 } = answers
  const code = codeIn(error)
  const headers = { 'Retry-After': String(Math.ceil(retryAfterMs / 1_000)) }
  switch (code) {
    case 'LOCK_TIMEOUT':
      return new LockHttpError(code, BUSY, { status: busyStatus, headers }, { cause: error })
    case 'LOCK_BUSY':
      return new LockHttpError(code, CROWDED, { status: 503, headers }, { cause: error })
    case 'SHARE_BUSY':
      return new LockHttpError(code, UNFINISHED, { status: 503, headers }, { cause: error })
    case 'REDIS_UNAVAILABLE':
    case 'QUORUM':
    case 'CLIENT_CLOSED':
      return new LockHttpError(code, UNAVAILABLE, { status: 503, headers }, { cause: error })
    case 'LOCK_LOST':
      // The work may have been done in part, so the response must not suggest a retry.
      return new LockHttpError(code, LOST, { status: 500, headers: {} }, { cause: error })
    default:
      return error
  }
}

/**
 * The code of a lock error: by its text, because the client may come from another copy of this package. Where the work and
 * the end of its `await using` have both failed, the error has none, and that of the work counts, as with `withLock`.
 */
function codeIn(error: unknown): string {
  const { code, name, suppressed, error: ofTheEnd } = (error ?? {}) as Partial<Record<string, unknown>>
  if (name !== 'SuppressedError') {
    return typeof code === 'string' ? code : ''
  }
  return codeIn(suppressed) || codeIn(ofTheEnd)
}

const BUSY = 'Conflict: the resource is locked. Try again later.'
const CROWDED = 'Too many requests wait for this resource. Try again later.'
const LOST = 'The lock was lost during the work, which may have been done in part.'
const UNFINISHED = 'The result is not ready yet. Try again later.'
const UNAVAILABLE = 'Locks are not available. Try again later.'
