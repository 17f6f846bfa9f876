/** The work under the lock: the bench measures everything else. */
export const work = async () => undefined

/** Lease of every contestant where settings are equal, ms. */
export const LEASE_MS = 30_000
