import type { LockClient } from '@holdfast/core'

/** What `@nestjs/terminus` reads, without needing it. */
export type LocksHealth<Key extends string = string> = Record<
  Key,
  { status: 'up' | 'down'; message?: string }
>

/** Whether locks can be taken: takes one of its own, and gives it back. */
export class LocksHealthIndicator {
  constructor(private readonly locks: LockClient) {}

  /**
   * For `HealthCheckService.check([() => locksHealth.check('locks')])`, or by itself. Never rejects.
   * @param options.timeoutMs how long Redis may take, ms. Default 1,000
   */
  async check<Key extends string>(
    key: Key,
    { timeoutMs = 1_000 }: { timeoutMs?: number } = {},
  ): Promise<LocksHealth<Key>> {
    try {
      const lock = this.locks.getLock(`health:${this.locks.clientId}`)
      // Checks side by side are one after another, so the lock may be busy: Redis has answered then.
      const hold = await lock.tryAcquire({ waitMs: timeoutMs, leaseMs: LEASE_MS })
      // Waits for `releaseWaitMs` at most: a Redis that has just gone down is for the next check to tell.
      await hold?.[Symbol.asyncDispose]()
      return { [key]: { status: 'up' } } as LocksHealth<Key>
    } catch (error) {
      const { message } = error as Error
      return { [key]: { status: 'down', message } } as LocksHealth<Key>
    }
  }
}

// Should this process die in between.
const LEASE_MS = 5_000
