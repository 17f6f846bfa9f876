import { InvalidArgumentError, QuorumError, type LockTimeoutError } from '../errors.js'
import type { CallSite } from '../context/context.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import type { Lock } from '../locks/lock.js'
import type { LockServices } from '../locks/services.js'
import { reportOf } from './quorum-tally.js'
import type { CompoundCall } from './compound-call.js'
import type { CompoundHold } from './compound-hold.js'
import { CompoundLock } from './compound-lock.js'
import type { CompoundRule, MemberFailure } from './compound-rule.js'
import type { Member, MemberHold } from './member.js'
import { NodeRetaker } from './node-retaker.js'
import { takeQuorum } from './take-quorum.js'

/** All durations in milliseconds. */
export interface RedLockOptions {
  /** Time for each node to reply. Default 200. Longer: slow nodes count; shorter: a dead node delays less. */
  nodeTimeoutMs?: number | undefined
}

export const RED_LOCK_OPTIONS: KnownKeys<RedLockOptions> = { nodeTimeoutMs: true }

/** The locks one by one; or a list of them, and options. */
export type RedLockArguments = readonly (Lock | readonly Lock[] | RedLockOptions | undefined)[]

export function locksAndOptions(args: RedLockArguments): [readonly unknown[], RedLockOptions?] {
  const [first, second] = args
  return Array.isArray(first) ? [first, second as RedLockOptions] : [args]
}

// The algorithm allows for a clock drift of 1 % of the lease + 2 ms. The trust margin of a member is 50 ms + 1 %, at
// most a quarter of the lease: from this lease on, it covers that drift.
const SHORTEST_LEASE_MS = 10

/**
 * One lock kept by several independent Redis nodes and held with a majority of them, so that it survives the loss of
 * the others. Redisson's RedissonRedLock, and the Redlock algorithm of the Redis documentation. Read docs/redlock.md
 * before you use it: a fenced lock on one Redis protects more.
 */
export class RedLock extends CompoundLock {
  /** @internal */
  protected readonly kind = 'red'

  /** @internal */
  protected readonly rule: CompoundRule

  /** @internal Created by a client. */
  constructor(
    session: LockServices,
    members: readonly Member[],
    thread: CallSite | null,
    private readonly nodeTimeoutMs: number,
  ) {
    super(session, members, thread)
    this.rule = {
      needed: Math.floor(members.length / 2) + 1,
      patienceMs: nodeTimeoutMs,
      tooFew: (failures) => this.tooFew(failures),
    }
  }

  /** @internal */
  protected takeMembers(call: CompoundCall): Promise<MemberHold[] | LockTimeoutError> {
    const { leaseMs } = call.limits
    if (leaseMs !== undefined && leaseMs < SHORTEST_LEASE_MS) {
      throw new InvalidArgumentError('leaseMs', leaseMs, `at least ${SHORTEST_LEASE_MS} ms`)
    }
    const { members, nodeTimeoutMs } = this
    return takeQuorum(call, { members, needed: this.rule.needed, nodeTimeoutMs })
  }

  /** @internal A hold whose leases are renewed takes nodes again that it has not, or not any more. */
  protected override begun(hold: CompoundHold, call: CompoundCall): void {
    const { session, members, nodeTimeoutMs, name } = this
    const { origin, ofCallback } = call
    const { leaseMs, renews } = call.limits
    // A re-entry lasts no longer than the level around it, which does that. And what ends after maxHoldMs is to end.
    const isFirst = hold.levels.every(({ acquisition }) => acquisition.levelCount === 1)
    const isEndless = members.every((member) => member.session.options.maxHoldMs === undefined)
    if (renews && isFirst && isEndless) {
      new NodeRetaker(hold, { session, members, nodeTimeoutMs, name, leaseMs, origin, ofCallback })
    }
  }

  private tooFew(failures: readonly MemberFailure[]): QuorumError {
    const nodes = failures.map(({ member, error }) =>
      reportOf({ kind: 'failed', member, error }, this.members),
    )
    return new QuorumError({ lockName: this.name, needed: this.rule.needed, nodes })
  }
}
