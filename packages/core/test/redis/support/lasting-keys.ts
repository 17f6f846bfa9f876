/**
 * Keys that stay in Redis by design when all clients are closed (I5): tombstones, what is kept of operations, ticks, terms and
 * shared results, and the queue of a plain lock that nobody stands in any more end by themselves, and token counters outlive their locks, as Redisson's do.
 */
export const staysByDesign = (key: string): boolean =>
  /^(holdfast:(latch|line|operations|result|share|terms|ticks)|redisson_lock_token):/.test(key)
