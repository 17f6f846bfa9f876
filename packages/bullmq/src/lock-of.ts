import type { AnyLock } from '@holdfast/core'
import type { LockedOptions } from './options.js'

/** Makes the lock of one job. @throws InvalidArgumentError a missing or invalid name */
export function lockOf<J>(job: J, options: LockedOptions<J>): Pick<AnyLock, 'withLock'> {
  if ('lock' in options) {
    return options.lock(job)
  }
  const { locks, name } = options
  const given = typeof name === 'function' ? name(job) : name
  if (typeof given !== 'object') {
    return locks.getLock(given)
  }
  // Names may repeat: a transfer from an account to itself names it twice.
  const members = [...new Set(given)].map((each) => locks.getLock(each))
  const [only] = members
  return only && members.length === 1 ? only : locks.getMultiLock(...members)
}
