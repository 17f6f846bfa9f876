/** The result of a renewal for one lease. */
export type RenewalAnswer = 'renewed' | 'lost' | 'unknown'

/** `expired`: trust ran out locally. `refused`: the store reported that the owner does not hold the lease. */
export type LossReason = 'expired' | 'refused'

/** A lease that the watchdog keeps alive. Both callbacks are called synchronously. */
export interface RenewableLease {
  /**
   * The lease that a renewal sets, in ms. Finite and above 0. Read when a renewal is sent, so it may change while
   * watched: the store must read it in the same turn.
   */
  readonly ttlMs: number
  /** Called at most once, when the lease may no longer be used. */
  onLost(reason: LossReason): void
  /** Called for every attempt with an unknown outcome; the lease is trusted for as long as before. */
  onRenewalFailed?(error: unknown): void
}

/** The store of the leases. Both calls may be repeated at any time, so both must be idempotent. */
export interface LeaseStore<L extends RenewableLease> {
  /**
   * Sets each lease that the owner still holds to its `ttlMs`; must never create or shorten one.
   *
   * Resolves with one result per lease, in order. A rejection means `unknown` for all of them. Must settle within
   * `limits.timeoutMs`: a call that never settles is not repeated, and its leases expire.
   */
  renew(leases: readonly L[], limits: { timeoutMs: number }): Promise<readonly RenewalAnswer[]>
  /**
   * Reads the time left of the lease in the store, ms; `null` if the owner does not hold it. A rejection means
   * unknown. Called only to verify suspect leases that are not renewed.
   */
  remaining(lease: L, limits: { timeoutMs: number }): Promise<number | null>
  /** Leases with different keys are never sent in one `renew`. Default: all may. Must not throw. */
  batchKey?(lease: L): string | number
}
