export const LOCK = 'shared-value'

/** How long anybody may wait. Whoever waits longer is kept out, or was not woken. */
export const LIMIT_MS = 10_000
