import { checkObject } from '../validate.js'
import { checkAnswers, type LockErrorAnswers } from './http-error.js'

export interface HttpLocksOptions {
  /** Gives errors of locks their status; `{}` for the defaults. Left out: they stay as they are. */
  readonly errors?: LockErrorAnswers | undefined
}

/** @throws InvalidArgumentError */
export function checkHttpOptions(options: HttpLocksOptions): void {
  checkObject('options', options)
  if (options.errors !== undefined) {
    checkAnswers(options.errors)
  }
}
