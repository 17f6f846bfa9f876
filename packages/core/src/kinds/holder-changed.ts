import { HolderChangedError } from '../errors.js'
import { lockHolder } from '../lock-holder.js'
import type { LockState } from '../scripts/lock.js'

/** @param wanted the owner that was to lose the lock */
export function holderChanged(
  lockName: string,
  wanted: string | undefined,
  { ttlMs: leaseLeftMs, holds: fields }: LockState,
): HolderChangedError {
  const [first, ...others] = fields
  const [owner, holds] = first ?? []
  const holder =
    owner === undefined || holds === undefined
      ? undefined
      : lockHolder({ owner, holds, leaseLeftMs, heldForAtLeastMs: 0, others: others.length })
  return new HolderChangedError(lockName, wanted ?? '', holder)
}
