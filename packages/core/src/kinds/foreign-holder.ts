import type { KindServices } from './services.js'
import { OURS_ALONE, WrongTypeError } from '../errors.js'
import { holderInWords, lockHolder, type LockHolder } from '../lock-holder.js'
import type { LockState } from '../scripts/lock.js'
import type { LockProtocol } from './lock-protocol.js'

const FREE: LockState = { ttlMs: -2, holds: new Map() }

/**
 * The answer to a question about a lock whose name a string may have.
 * @throws WrongTypeError the key is a hash of something else: nobody holds it, and nobody can
 */
export async function stateOf(
  session: KindServices,
  of: LockProtocol,
  asked: Promise<LockState>,
): Promise<LockState> {
  const state = await asked.catch((error: unknown) => stateBeside(session, of, error))
  if (state.isNoLock) {
    throw new WrongTypeError(of.lockName, of.key, new Error('WRONGTYPE The key is a hash of something else'))
  }
  return state
}

/** @throws `error`: it is about something else */
async function stateBeside(session: KindServices, of: LockProtocol, error: unknown): Promise<LockState> {
  const holder = await foreignHolder(session, of, error)
  return holder ? { ttlMs: holder.leaseLeftMs, holds: new Map(), isForeign: true } : FREE
}

/** @returns nothing was there to release. @throws WrongTypeError */
export async function refuseForce(
  session: KindServices,
  of: LockProtocol,
  error: unknown,
): Promise<'not-held'> {
  const holder = await foreignHolder(session, of, error)
  if (!holder) {
    return 'not-held'
  }
  const cause = new Error(`${holderInWords(holder)}. Only that library may release it`)
  throw new WrongTypeError(of.lockName, of.key, cause, 'a lock of Holdfast')
}

/** The error, with the advice to wait for strings if `of` does not, and its own key was met. Another key is nobody's lock. */
export function withAdvice(error: unknown, of: LockProtocol): unknown {
  return of.foreignLocks === 'error' && error instanceof WrongTypeError && error.key === of.key
    ? new WrongTypeError(of.lockName, of.key, error.cause as Error, OURS_ALONE)
    : error
}

export function refuseWith(of: LockProtocol): (error: unknown) => never {
  return (error) => {
    throw withAdvice(error, of)
  }
}

/** The string of another library, after a command that met it. Null: it is gone. */
async function foreignHolder(
  session: KindServices,
  of: LockProtocol,
  error: unknown,
): Promise<LockHolder | null> {
  if (of.foreignLocks === 'error' || !(error instanceof WrongTypeError) || error.key !== of.key) {
    throw withAdvice(error, of)
  }
  const found = await session.foreignLooks.at(of)
  if (found.kind === 'another-type') {
    throw error
  }
  if (found.kind === 'gone') {
    return null
  }
  const { value: owner, ttlMs: leaseLeftMs } = found
  return lockHolder({ owner, holds: 1, leaseLeftMs, heldForAtLeastMs: 0, isForeign: true })
}
