import { type KnownKeys, nativeSignal, checkOptions } from '../door.js'
import { checkAnswers, type LockErrorAnswers } from './http-error.js'

/** When the requests of a middleware end. */
export interface RequestOptions {
  /**
   * Ends the waits of its requests with its reason, and refuses what they ask for later: for a shutdown in which other
   * work goes on under locks. Holds stay. Default: only the end of the client does that.
   */
  readonly signal?: AbortSignal | undefined
}

/** The options of the middleware of a framework. */
export interface HttpLocksOptions extends RequestOptions {
  /** Gives lock errors an HTTP status; `{}` for the defaults. Default: errors are left unchanged. */
  readonly errors?: LockErrorAnswers | undefined
}

const REQUEST_OPTIONS: KnownKeys<RequestOptions> = { signal: true }
const HTTP_LOCKS_OPTIONS: KnownKeys<HttpLocksOptions> = { ...REQUEST_OPTIONS, errors: true }

/** @throws InvalidArgumentError */
export function checkRequestOptions(options: RequestOptions): void {
  checkOptions('options', options, REQUEST_OPTIONS)
  nativeSignal(options.signal)
}

/** @throws InvalidArgumentError */
export function checkHttpOptions(options: HttpLocksOptions): void {
  checkOptions('options', options, HTTP_LOCKS_OPTIONS)
  nativeSignal(options.signal)
  if (options.errors !== undefined) {
    checkAnswers(options.errors)
  }
}
