import type { Watch } from '@holdfast/watchdog'
import type { Session } from '../client/session.js'
import { reportFailedRelease } from '../diagnostics/reports.js'
import type { RemainingLevels } from '../entry/entry-command.js'
import type { LockEntry } from '../entry/lock-entry.js'
import type { LossReason } from '../errors.js'
import type { LockProtocol } from '../protocols/lock-protocol.js'

/** An acquisition, as what its holders ask about their lease needs it. */
export interface LeaseOwner {
  readonly session: Session
  readonly protocol: LockProtocol
  readonly lockName: string
  readonly owner: string
  /** Its entry in Redis. */
  readonly field: LockEntry
  /** Null before it holds the lock. */
  readonly watch: Watch | null
  readonly isReleased: boolean
  lose(reason: LossReason): void
  throwIfLost(): void
}

/** Asks Redis whether the owner still holds the lock. @throws LockLostError, RedisUnavailableError */
export async function verifyLease(owner: LeaseOwner): Promise<void> {
  owner.throwIfLost()
  const { runtime, options } = owner.session
  const sentAt = runtime.now()
  const remainingMs = await owner.protocol.remaining(owner.field)
  if (remainingMs === null && !owner.isReleased) {
    owner.lose('gone')
  } else if (remainingMs !== null && remainingMs >= 0) {
    // The primary may have a renewal that no replica has: if replicas count, it adds no trust.
    owner.watch?.correct(sentAt, remainingMs, { mayGrow: !options.replicas })
  }
  owner.throwIfLost()
}

/** Makes the lease last at least this long from now. @throws LockLostError, RedisUnavailableError */
export function extendLease(owner: LeaseOwner, leaseMs: number): Promise<void> {
  owner.session.lastHolders.noteLease(leaseMs)
  return owner.field.runExclusive(async () => {
    owner.throwIfLost()
    if (!owner.isReleased) {
      await owner.field.extend(leaseMs)
      owner.throwIfLost()
    }
  })
}

/** Sets the count in Redis to that of the levels, in its turn. Never rejects: a failure is reported. */
export function releaseUntilKnown(
  owner: LeaseOwner,
  levels: RemainingLevels,
  limitMs = Infinity,
): Promise<unknown> {
  const { field, session } = owner
  return field
    .runExclusive(() => field.releaseUntilKnown(levels, limitMs))
    .catch((error: unknown) => reportFailedRelease(session, owner, error))
}
