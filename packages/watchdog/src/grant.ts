/** The lease granted by the store, and whether to renew it. */
export interface Grant {
  /** Monotonic ms at which the request that obtained the lease was SENT. */
  readonly sentAt: number
  /** The lease, in ms, from then on. */
  readonly ttlMs: number
  /** Whether the watchdog renews the lease, or only tracks how long it may be trusted. */
  readonly renew: boolean
  /** No renewal starts later than this many ms after `sentAt`; trust then runs out. Default: no limit. */
  readonly renewForMs?: number | undefined
}

/** @throws RangeError */
export function requireGrant(leaseTtlMs: number, grant: Grant): void {
  // A renewal to 0 would be due again at once, for ever.
  if (leaseTtlMs === 0) {
    throw new RangeError('lease.ttlMs must be above 0')
  }
  requireDuration('lease.ttlMs', leaseTtlMs)
  requireDuration('grant.ttlMs', grant.ttlMs)
  if (!Number.isFinite(grant.sentAt)) {
    throw new RangeError(`grant.sentAt must be finite, got ${grant.sentAt}`)
  }
  const { renewForMs = Infinity } = grant
  if (!(renewForMs >= 0)) {
    throw new RangeError(`grant.renewForMs must be >= 0, got ${renewForMs}`)
  }
}

/** @throws RangeError A single NaN would break the order of the deadline heap, and so every other watch. */
export function requireDuration(name: string, ms: number): void {
  if (!(ms >= 0 && ms < Infinity)) {
    throw new RangeError(`${name} must be a finite number of ms >= 0, got ${ms}`)
  }
}
