import { FORGOTTEN_AWAIT } from '../acquire/unscoped-calls.js'
import type { Context } from '../context/context.js'
import { InvalidArgumentError, NotLockOwnerError } from '../errors.js'
import type { LockHold, ReleaseOutcome } from '../hold.js'

const UNLOCKED = 'it was unlocked before. Unlock once for each lock(), and each tryLock() that returned true'
const LOST = 'it was lost before it was unlocked. `cause` says why; hold.signal of acquire() tells at once'
const ONE_CONTEXT =
  'Call lock() and unlock() in one context, as in one locks.run(callback), or use lock.withLock(callback)'

/** For Redisson-style `unlock`: releasing a level that is not held is an error. @throws NotLockOwnerError */
export function refuseIfNotHeld(hold: LockHold, outcome: ReleaseOutcome): void {
  if (outcome === 'lost' || outcome === 'already-released') {
    const why = outcome === 'lost' ? LOST : UNLOCKED
    const { lockName, owner, lossError: cause } = hold
    throw new NotLockOwnerError(lockName, why, cause ? { owner, cause } : { owner })
  }
}

/** Why an `unlock` in this context has nothing to release. */
export function whyNoHold(context: Context, scope: string): string {
  const why = `context ${context.id} has no hold of it`
  return context.isWaitingFor(scope)
    ? `${why}, but a call for it under way. ${FORGOTTEN_AWAIT}`
    : `${why}. ${ONE_CONTEXT}`
}

/** `unlock` of one lock must not release the hold of another. */
export function notAHoldOf(name: string, given: unknown): InvalidArgumentError {
  const other = (given as Partial<LockHold> | null)?.lockName
  const value = other === undefined ? given : `a hold of ${other}`
  return new InvalidArgumentError(
    'hold',
    value,
    `a hold of ${JSON.stringify(name)}: release any other by its own release()`,
  )
}
