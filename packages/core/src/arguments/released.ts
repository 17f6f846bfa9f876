import { NotLockOwnerError } from '../errors.js'

/** A hold or a permit. */
interface Released {
  readonly wasReleased: boolean
  readonly lockName: string
  readonly owner: string
}

/** @throws NotLockOwnerError the hold, or the permit, was released */
export function refuseReleased({ wasReleased, lockName, owner }: Released, what = 'hold'): void {
  if (wasReleased) {
    const why = `this ${what} was released. Use a ${what} only before its release()`
    throw new NotLockOwnerError(lockName, why, { owner })
  }
}
