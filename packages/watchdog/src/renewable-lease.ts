/** What one renewal attempt says about one lease. */
export type RenewalAnswer = 'renewed' | 'lost' | 'unknown'

/** `expired`: trust ran out locally. `refused`: the store said that the lease is no longer ours. */
export type LossReason = 'expired' | 'refused'

/** What a watchdog must know of a thing it keeps alive. Both callbacks are called synchronously. */
export interface RenewableLease {
  /** What a renewal sets, in ms. Finite, above 0, and constant while the lease is watched. */
  readonly ttlMs: number
  /** Called at most once, when the lease may no longer be used. */
  onLost(reason: LossReason): void
  /** Called for every attempt whose outcome is unknown; the lease stays trusted as long as it was. */
  onRenewalFailed?(error: unknown): void
}

/** Where leases are kept. Both questions may be repeated at any time, so both must be idempotent. */
export interface LeaseStore<L extends RenewableLease> {
  /**
   * Sets each lease that is still ours to its `ttlMs`; never creates one and never shortens one.
   *
   * Answers one per lease, in order. A rejection means `unknown` for all of them. Must settle within
   * `limits.timeoutMs`: a call that never settles is not repeated, and its leases run out.
   */
  renew(leases: readonly L[], limits: { timeoutMs: number }): Promise<readonly RenewalAnswer[]>
  /**
   * How many ms the store still keeps the lease; `null` when it is not ours. A rejection means unknown.
   * Asked only after the machine was suspended, about leases that are not renewed.
   */
  remaining(lease: L, limits: { timeoutMs: number }): Promise<number | null>
  /** Leases with different keys never travel in one `renew`. Default: all may. Must not throw. */
  batchKey?(lease: L): string | number
}
