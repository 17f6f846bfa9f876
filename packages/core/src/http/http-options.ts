import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkOptions } from '../arguments/validate.js'
import { checkAnswers, type LockErrorAnswers } from './http-error.js'

/** The options of the middleware of a framework. */
export interface HttpLocksOptions {
  /** Gives lock errors an HTTP status; `{}` for the defaults. Default: errors are left unchanged. */
  readonly errors?: LockErrorAnswers | undefined
}

const HTTP_LOCKS_OPTIONS: KnownKeys<HttpLocksOptions> = { errors: true }

/** @throws InvalidArgumentError */
export function checkHttpOptions(options: HttpLocksOptions): void {
  checkOptions('options', options, HTTP_LOCKS_OPTIONS)
  if (options.errors !== undefined) {
    checkAnswers(options.errors)
  }
}
