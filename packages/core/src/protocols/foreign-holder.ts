import type { Session } from '../client/session.js'
import { WrongTypeError } from '../errors.js'
import { holderInWords, lockHolder, type LockHolder } from '../lock-holder.js'
import type { LockState } from '../scripts/lock.js'
import type { LockProtocol } from './lock-protocol.js'

const FREE: LockState = { ttlMs: -2, holds: new Map() }

/** The state of a lock whose name a string may have. @throws `error`: it is about something else */
export async function stateBeside(session: Session, of: LockProtocol, error: unknown): Promise<LockState> {
  const holder = await foreignHolder(session, of, error)
  return holder ? { ttlMs: holder.leaseLeftMs, holds: new Map(), isForeign: true } : FREE
}

/** @returns nothing was there to release. @throws WrongTypeError */
export async function refuseForce(session: Session, of: LockProtocol, error: unknown): Promise<'not-held'> {
  const holder = await foreignHolder(session, of, error)
  if (!holder) {
    return 'not-held'
  }
  const cause = new Error(`${holderInWords(holder)}. Only that library may release it`)
  throw new WrongTypeError(of.lockName, of.key, cause, 'a lock of Holdfast')
}

/** The string of another library, after a command that met it. Null: it is gone. */
async function foreignHolder(session: Session, of: LockProtocol, error: unknown): Promise<LockHolder | null> {
  if (of.foreignLocks === 'error' || !(error instanceof WrongTypeError) || error.key !== of.key) {
    throw error
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
