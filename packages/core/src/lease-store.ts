import type { LeaseStore, RenewableLease, RenewalAnswer } from '@holdfast/watchdog'
import { publishRenewals, type Renewed } from './diagnostics/renewal-publication.js'
import type { ScriptRunner } from './redis/script-runner.js'
import { renew } from './scripts/lock/renew.js'
import { renew as renewRead } from './scripts/read-lock/renew.js'

/** A lease that is not part of a lock: it is renewed by a command of its own. */
export interface SelfRenewing extends RenewableLease, Renewed {
  /** In Redis. */
  readonly key: string
  renewItself(timeoutMs: number): Promise<'renewed' | 'lost'>
  remaining(timeoutMs: number): Promise<number | null>
}

/** The lease of a lock, which is renewed together with those of others. */
export interface LeasedLock extends RenewableLease, Renewed {
  /** In Redis. */
  readonly key: string
  /** Of readers: each has a key of its own, and another script renews it. */
  readonly shared: boolean
  /** What stands for its owner in the hash. */
  readonly field: { readonly name: string; readonly inDoubt: unknown }
  remaining(timeoutMs?: number): Promise<number | null>
}

/** What the watchdog of a client watches. */
export type Leased = LeasedLock | SelfRenewing

function isSelfRenewing(lease: Leased): lease is SelfRenewing {
  return 'renewItself' in lease
}

/** Where the watchdog renews what this client holds. */
export class RedisLeaseStore implements LeaseStore<Leased> {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly leaseMs: number,
    private readonly clientId: string,
  ) {}

  renew(leases: readonly Leased[], limits: { timeoutMs: number }): Promise<readonly RenewalAnswer[]> {
    return publishRenewals(this.clientId, leases, this.ask(leases, limits))
  }

  /** Holds of readers have keys of their own: another script renews them. One script is for keys of one slot. */
  batchKey(lease: Leased): string {
    if (isSelfRenewing(lease)) {
      return 'permits'
    }
    return `${lease.shared ? 'readers' : 'owners'} ${this.runner.slotOf(lease.key) ?? ''}`
  }

  async remaining(lease: Leased, limits: { timeoutMs: number }): Promise<number | null> {
    const ms = await lease.remaining(limits.timeoutMs)
    // A key without an end: as good as the longest lease.
    return ms === -1 ? this.leaseMs : ms
  }

  private ask(leases: readonly Leased[], limits: { timeoutMs: number }): Promise<readonly RenewalAnswer[]> {
    const { timeoutMs } = limits
    const alone = leases.filter(isSelfRenewing)
    if (alone.length > 0) {
      // No answer to one is no answer about the others.
      return Promise.all(alone.map((each) => each.renewItself(timeoutMs).catch(() => 'unknown' as const)))
    }
    return this.renewLocks(leases as readonly LeasedLock[], timeoutMs)
  }

  private async renewLocks(
    leases: readonly LeasedLock[],
    timeoutMs: number,
  ): Promise<readonly RenewalAnswer[]> {
    const { runner, leaseMs } = this
    const ofReaders = leases[0]?.shared === true
    const locks = leases.map(({ key, field }) => ({
      key,
      field,
      owner: field.name,
      inDoubt: field.inDoubt !== null,
    }))
    const answers = await (ofReaders ? renewRead : renew)(runner, { locks, leaseMs, timeoutMs })
    return locks.map(({ field, owner, inDoubt }, i) => {
      // Of a name that was or is being followed by another: it may be that one that Redis has.
      const isSuperseded = inDoubt || field.inDoubt !== null || field.name !== owner
      const answer = answers[i] ?? 'lost'
      return answer === 'lost' && isSuperseded ? 'unknown' : answer
    })
  }
}
