import type { LeaseStore, RenewalAnswer } from '@holdfast/watchdog'
import type { Acquisition } from './acquisition.js'
import type { ScriptRunner } from './redis/script-runner.js'
import { renew } from './scripts/lock/renew.js'

/** Where the watchdog renews what this client holds. */
export class RedisLeaseStore implements LeaseStore<Acquisition> {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly leaseMs: number,
  ) {}

  renew(locks: readonly Acquisition[], limits: { timeoutMs: number }): Promise<readonly RenewalAnswer[]> {
    return renew(this.runner, { locks, leaseMs: this.leaseMs, timeoutMs: limits.timeoutMs })
  }

  async remaining(lock: Acquisition, limits: { timeoutMs: number }): Promise<number | null> {
    const ms = await lock.remaining(limits.timeoutMs)
    // A key without an end: as good as the longest lease.
    return ms === -1 ? this.leaseMs : ms
  }
}
