const { HOLDFAST_DEMO_LEASE_MS: leaseWish, HOLDFAST_DEMO_LOCK: lockWish } = process.env

/** @param {string} message */
const refuse = (message) => {
  console.error(message)
  process.exit(1)
}

// For a quick check of the demo itself: shortens both leases.
const leaseMs = leaseWish ? Number(leaseWish) : undefined
if (leaseMs !== undefined && !(Number.isInteger(leaseMs) && leaseMs >= 500 && leaseMs <= 5_000)) {
  refuse(`HOLDFAST_DEMO_LEASE_MS can be a whole number from 500 to 5000, not '${leaseWish}'`)
}
if (lockWish && lockWish !== 'broken') refuse(`HOLDFAST_DEMO_LOCK can only be 'broken', not '${lockWish}'`)

/** A demo whose claims cannot fail would show nothing: see open-locks.mjs. */
export const LOCK_IS_BROKEN = lockWish === 'broken'

export const ITEMS = 10
export const PROCESSES = 4
export const BUYERS_EACH = 25

/** Lease of the holder that is killed: the longest that anybody has to wait for a dead process. */
export const CRASH_LEASE_MS = leaseMs ?? 3_000
/** Lease of the holder that works longer than it. */
export const LONG_LEASE_MS = leaseMs ?? 1_000
/** Three leases and a bit, so that the end of the third is seen as well. */
export const LONG_WORK_MS = Math.round(LONG_LEASE_MS * 3.2)

/** No wait inside the demo has no end: a lock that never frees is a failed claim, not a demo that hangs. */
export const STEP_LIMIT_MS = 10_000
export const DEMO_LIMIT_MS = 55_000
/**
 * Every key of the demo expires by itself, also when the demo is killed before it can delete them; but those of queues,
 * which their acts delete.
 */
export const KEY_TTL_MS = 120_000
