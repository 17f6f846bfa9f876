import type { LockClient } from '@holdfast/core'

/** The result that `@nestjs/terminus` reads, without depending on it. */
export type LocksHealth<Key extends string = string> = Record<
  Key,
  { status: 'up' | 'down'; message?: string }
>

/** Checks whether locks work: acquires one of its own, and releases it. */
export class LocksHealthIndicator {
  /** Takes the client whose locks it checks. Called by Nest. */
  constructor(private readonly locks: LockClient) {}

  /**
   * Checks within `timeoutMs`. For `HealthCheckService.check([() => locksHealth.check('locks')])`, or by itself.
   * Never rejects.
   * @param options.timeoutMs how long Redis may take, ms. Default 1,000
   */
  async check<Key extends string>(
    key: Key,
    { timeoutMs = 1_000 }: { timeoutMs?: number } = {},
  ): Promise<LocksHealth<Key>> {
    try {
      const lock = this.locks.getLock(`health:${this.locks.clientId}`)
      // Concurrent checks exclude each other, so the lock may be busy: then Redis has answered.
      const hold = await lock.tryAcquire({ waitMs: timeoutMs, leaseMs: LEASE_MS })
      // Waits at most `releaseWaitMs`: if Redis has just gone down, the next check reports it.
      await hold?.[Symbol.asyncDispose]()
      return { [key]: { status: 'up' } } as LocksHealth<Key>
    } catch (error) {
      const { message } = error as Error
      return { [key]: { status: 'down', message } } as LocksHealth<Key>
    }
  }
}

// In case this process dies in between.
const LEASE_MS = 5_000
