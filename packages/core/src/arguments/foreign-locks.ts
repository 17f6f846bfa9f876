import { InvalidArgumentError } from '../errors.js'
import { checkOneOf, checkOptions } from './validate.js'

/**
 * What to do where a string has the name of a lock: the lock of another library, such as redlock, redis-semaphore's
 * `Mutex` or redis-py's `Lock`. `'error'`: WRONG_TYPE, as for any other key. `'wait'`: it counts as held until it is
 * gone. A string without a time to live may be no lock at all: a wait without a limit that is the first of its client and
 * has seen the same one for `unavailableTimeoutMs` ends in WRONG_TYPE. With `{ withoutTtl: 'wait' }` it goes on: for libraries whose locks have no
 * time to live, such as redis-py's by default.
 */
export type ForeignLocks = 'error' | 'wait' | { readonly withoutTtl: 'error' | 'wait' }

/** Whether to wait for string locks, and how. */
export type ForeignRule = 'error' | { readonly withoutTtl: 'error' | 'wait' }

const WAITING: ForeignRule = { withoutTtl: 'error' }

/** @throws InvalidArgumentError */
export function foreignRuleOf(given: ForeignLocks): ForeignRule {
  if (given === 'error') {
    return given
  }
  if (given === 'wait') {
    return WAITING
  }
  if (typeof given !== 'object') {
    throw new InvalidArgumentError(
      'foreignLocks',
      given,
      "'error', 'wait', or { withoutTtl: 'error' } or { withoutTtl: 'wait' }",
    )
  }
  checkOptions('foreignLocks', given, { withoutTtl: true })
  checkOneOf('foreignLocks.withoutTtl', given.withoutTtl, ['error', 'wait'])
  return { withoutTtl: given.withoutTtl }
}
