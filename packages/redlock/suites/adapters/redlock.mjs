// In place of the suite's own `./index`. Tests read a lock's value by GET; here it is found by the owner in the hash.
import Base from '@holdfast/redlock'

export { ExecutionError, Lock, ResourceLockedError } from '@holdfast/redlock'

const locks = new Set()

/** The `value` of the lock that has this owner in Redis. */
export const valueOf = (owner) =>
  [...locks].find(({ holds }) =>
    holds.some((hold) => (hold.holds ?? [hold]).some((each) => each.owner === owner)),
  )?.value ?? null

export class Redlock extends Base {
  async acquire(...args) {
    const lock = await super.acquire(...args)
    locks.add(lock)
    return lock
  }

  async extend(...args) {
    const lock = await super.extend(...args)
    locks.add(lock)
    return lock
  }
}
export default Redlock
