import { heartbeatOf, type ResolvedOptions } from '../options.js'

/**
 * Heartbeats for which Redis may keep a waiter, and a lock that it grants to it: a sign of life lasts two, as long again
 * after Redis was unavailable, and a grant as long again.
 */
const LONGEST_IN_LINE = 6

/** The part of an owner's state that Redis may have without another command of that owner. */
export interface LeftInRedis {
  /** The longest of the leases that were asked for, ms. */
  readonly longestLeaseMs: number
  /** A try that waits was sent: Redis may grant the lock for as long as it has the waiter queued. */
  readonly redisMayGrant: boolean
}

/**
 * For how long a full release is sent again, ms: as long as Redis may keep anything, but no longer than `limitMs`. If the
 * clock of Redis is set back, it keeps everything longer, and a short lease would be given up too soon: without a limit,
 * nothing is given up earlier than any other call gives Redis up.
 */
export function longestUndoMs(
  limitMs: number,
  { longestLeaseMs, redisMayGrant }: LeftInRedis,
  options: ResolvedOptions,
): number {
  const inLineMs = redisMayGrant ? LONGEST_IN_LINE * heartbeatOf(options) : 0
  const leastMs = limitMs === Infinity ? options.unavailableTimeoutMs : 0
  return Math.min(limitMs, Math.max(longestLeaseMs, inLineMs, leastMs))
}
