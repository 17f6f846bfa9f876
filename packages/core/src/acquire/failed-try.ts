import type { Attempt } from '@holdfast/waiter'
import { WrongTypeError } from '../errors.js'
import { withAdvice } from '../kinds/foreign-holder.js'
import type { LockProtocol } from '../kinds/lock-protocol.js'
import { isWorthRetrying } from '../redis/until-known.js'

/** A failed try: no reply yet, or an error for its caller. */
export function unavailableOrThrow(error: unknown): Attempt<never> {
  if (isWorthRetrying(error)) {
    return { kind: 'unavailable', error }
  }
  throw error
}

/** Whether a caller waits although its try met something that is no lock of ours. */
export function mayBeString(error: unknown, of: LockProtocol): error is WrongTypeError {
  const looks = of.foreignLocks !== 'error' && !of.standsBehindForeign
  return looks && error instanceof WrongTypeError && error.key === of.key
}

/** Reports a try that no string can have refused. @throws what waiting does not end */
export function failureOfTry(error: unknown, of: LockProtocol): Attempt<never> {
  return unavailableOrThrow(withAdvice(error, of))
}
