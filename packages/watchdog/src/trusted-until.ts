/**
 * Returns how much earlier than the store the holder stops trusting a lease of `ttlMs`: 50 ms for late timers and 1
 * % for clocks that run at different speeds, but at most a quarter of a short lease.
 */
export function trustMarginMs(ttlMs: number): number {
  return Math.min(50 + ttlMs / 100, ttlMs / 4)
}

/**
 * Returns until when a lease is trusted, counted from the moment the request was SENT: the store started counting
 * at some unknown moment after that, so counting from the reply would trust the lease for longer than the store
 * keeps it.
 */
export function trustedUntil(sentAt: number, ttlMs: number): number {
  return sentAt + ttlMs - trustMarginMs(ttlMs)
}

/** A third: one attempt may time out after a whole interval, and another still fits before trust ends. */
export function renewalIntervalMs(ttlMs: number): number {
  return ttlMs / 3
}

/**
 * When to renew a lease that may not have been renewed recently. One interval before trust ends is the last moment
 * that leaves room for a retry; if that has passed, at once.
 */
export function resumeRenewalAt(now: number, until: number, intervalMs: number): number {
  return Math.min(now + intervalMs, Math.max(now, until - intervalMs))
}
