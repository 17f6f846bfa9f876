/**
 * What stays in Redis by design when all clients are closed (I5): latches and what is kept of operations and ticks end by
 * themselves, and token counters outlive their locks, as Redisson's do.
 */
export const staysByDesign = (key: string): boolean =>
  /^(holdfast:(latch|operations|ticks)|redisson_lock_token):/.test(key)
