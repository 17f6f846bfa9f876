import type { LeaseStore, RenewableLease, RenewalAnswer } from '@holdfast/watchdog'
import { renewals } from '../diagnostics/channels.js'
import { publishRenewals, type Renewed } from '../diagnostics/renewal-publication.js'
import { isQueued } from '../redis/failures.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import { renew } from '../scripts/lock.js'
import { renewRead } from '../scripts/read-write-lock.js'
import type { Clock } from '../runtime/runtime.js'

/** A lease that is not part of a lock: renewed by a command of its own. */
export interface SelfRenewing extends RenewableLease, Renewed {
  /** The key in Redis. */
  readonly key: string
  renewItself(timeoutMs: number): Promise<'renewed' | 'lost'>
  remaining(timeoutMs: number): Promise<number | null>
}

/** The lease of a lock, renewed in batches with others. */
export interface LeasedLock extends RenewableLease, Renewed {
  /** The key in Redis. */
  readonly key: string
  /** Readers have one key per hold, and are renewed by another script. */
  readonly shared: boolean
  /** The owner's field in the hash. */
  readonly field: { readonly name: string; readonly passed: { readonly inDoubt: unknown } }
  remaining(timeoutMs?: number): Promise<number | null>
  /** A renewal got a reply on this connection. */
  onRenewalAnswered(): void
}

/** The watchdog's schedule: three renewals per lease. */
const RENEWALS_A_LEASE = 3

/** The leases that the watchdog of a client renews. */
export type Leased = LeasedLock | SelfRenewing

function isSelfRenewing(lease: Leased): lease is SelfRenewing {
  return 'renewItself' in lease
}

/** Renews the leases of this client in Redis, for its watchdog. */
export class RedisLeaseStore implements LeaseStore<Leased> {
  /**
   * When the latest renewal of each lease was queued in a transaction that the application has opened on the
   * connection, monotonic ms. Null: the connection has replied since, so no transaction is open.
   */
  private queuedAt: WeakMap<Leased, number> | null = null

  constructor(
    /** It comes later: it needs the watchdog. */
    private readonly runner: () => ScriptRunner,
    private readonly leaseMs: number,
    private readonly clientId: string,
    private readonly clock: Clock,
  ) {}

  renew(leases: readonly Leased[], limits: { timeoutMs: number }): Promise<readonly RenewalAnswer[]> {
    const { queuedAt } = this
    // A holder is told of a release by force by message.
    this.runner().checkMessages()
    const answers = queuedAt ? this.askDue(queuedAt, leases, limits) : this.ask(leases, limits)
    return renewals.hasSubscribers ? publishRenewals(this.clientId, leases, answers) : answers
  }

  /**
   * A renewal queued in such a transaction is repeated only when the next one is due, not like one without a reply:
   * each copy makes the transaction longer.
   */
  private async askDue(
    queuedAt: WeakMap<Leased, number>,
    leases: readonly Leased[],
    limits: { timeoutMs: number },
  ): Promise<readonly RenewalAnswer[]> {
    const due = leases.filter((lease) => !this.isQueued(queuedAt, lease))
    const answers = due.length > 0 ? await this.ask(due, limits) : []
    const answerOf = new Map(due.map((lease, i) => [lease, answers[i]]))
    return leases.map((lease) => answerOf.get(lease) ?? 'unknown')
  }

  private isQueued(queuedAt: WeakMap<Leased, number>, lease: Leased): boolean {
    const at = queuedAt.get(lease) ?? -Infinity
    return this.clock.now() < at + lease.ttlMs / RENEWALS_A_LEASE
  }

  private noteFailed(leases: readonly Leased[], error: unknown): void {
    if (isQueued(error)) {
      const queuedAt = (this.queuedAt ??= new WeakMap())
      const now = this.clock.now()
      leases.forEach((lease) => queuedAt.set(lease, now))
    }
  }

  /** Readers' holds have keys of their own and another script. One script covers keys of one slot only. */
  batchKey(lease: Leased): string {
    if (isSelfRenewing(lease)) {
      return 'permits'
    }
    const kind = lease.shared ? 'readers' : 'owners'
    const ownMs = lease.ttlMs === this.leaseMs ? '' : lease.ttlMs
    return `${kind} ${this.runner().slotOf(lease.key) ?? ''} ${ownMs}`
  }

  async remaining(lease: Leased, limits: { timeoutMs: number }): Promise<number | null> {
    if (this.queuedAt && this.isQueued(this.queuedAt, lease)) {
      throw new Error(
        'The latest query was queued in a transaction that the application has opened on the connection.',
      )
    }
    const ms = await lease.remaining(limits.timeoutMs).catch((error: unknown) => {
      this.noteFailed([lease], error)
      throw error
    })
    this.queuedAt = null
    // A key without expiry counts as the longest lease.
    return ms === -1 ? this.leaseMs : ms
  }

  private ask(leases: readonly Leased[], limits: { timeoutMs: number }): Promise<readonly RenewalAnswer[]> {
    const { timeoutMs } = limits
    const alone = leases.filter(isSelfRenewing)
    if (alone.length > 0) {
      return Promise.all(alone.map((each) => this.renewAlone(each, timeoutMs)))
    }
    return this.renewLocks(leases as readonly LeasedLock[], timeoutMs)
  }

  /** A failed renewal says nothing about the other leases. */
  private async renewAlone(lease: SelfRenewing, timeoutMs: number): Promise<RenewalAnswer> {
    try {
      const answer = await lease.renewItself(timeoutMs)
      this.queuedAt = null
      return answer
    } catch (error) {
      this.noteFailed([lease], error)
      return 'unknown'
    }
  }

  private async renewLocks(
    leases: readonly LeasedLock[],
    timeoutMs: number,
  ): Promise<readonly RenewalAnswer[]> {
    const runner = this.runner()
    // They have one lease, unless a level of one of them came or went since they were put together. One that gets more
    // than it asked for trusts what it asked for.
    const leaseMs = leases.reduce((longest, lease) => Math.max(longest, lease.ttlMs), 0)
    const ofReaders = leases[0]?.shared === true
    const locks = leases.map(({ key, field }) => ({
      key,
      field,
      owner: field.name,
      inDoubt: field.passed.inDoubt !== null,
    }))
    const renewal = (ofReaders ? renewRead : renew)(runner, { locks, leaseMs, timeoutMs })
    const answers = await renewal.catch((error: unknown) => {
      this.noteFailed(leases, error)
      throw error
    })
    this.queuedAt = null
    leases.forEach((lease) => lease.onRenewalAnswered())
    return locks.map(({ field, owner, inDoubt }, i) => {
      // A rename before or during the renewal: Redis may have the field under the other name.
      const isSuperseded = inDoubt || field.passed.inDoubt !== null || field.name !== owner
      const answer = answers[i] ?? 'lost'
      return answer === 'lost' && isSuperseded ? 'unknown' : answer
    })
  }
}
