export const LEASE_MS = 3_000
export const RESYNC_MS = 100

/** How long a caller may wait: a copy of an acquire that arrives after a FLUSHALL takes the lock for one lease. */
export const LIMIT_MS = 20_000
