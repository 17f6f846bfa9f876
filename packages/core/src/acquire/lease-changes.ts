import type { Grant, Watch } from '@holdfast/watchdog'
import type { HeldLock } from '../client/held-locks.js'
import type { LeasedLock } from '../client/lease-store.js'
import type { Session } from '../client/session.js'
import { reportFailedRelease } from '../diagnostics/reports.js'
import type { RemainingLevels } from '../entry/entry-command.js'
import type { LockEntry } from '../entry/lock-entry.js'
import { LockLostError, type LossReason } from '../errors.js'
import { refuseIfShared, type Hold, type Loss } from '../hold.js'
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
  readonly levelCount: number
  /** The lease to ask for after a grant, until that is done, ms. */
  readonly unconfirmedMs: number
  /** Ends renewal, and trust after this long. */
  endSooner(hold: Hold, leaseMs: number): void
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

/**
 * Makes the lease end at most this long from now (docs/decisions/0051 has the interleavings).
 * @throws InvalidArgumentError other levels share the lease; LockLostError, RedisUnavailableError
 */
export function shortenLease(owner: LeaseOwner, hold: Hold, leaseMs: number): Promise<void> {
  const { field } = owner
  return field.runExclusive(async () => {
    owner.throwIfLost()
    // Released meanwhile: nothing is left to shorten.
    if (owner.isReleased || hold.wasReleased) {
      return
    }
    refuseIfShared(owner.levelCount)
    if (owner.unconfirmedMs > 0) {
      // The lease of a grant is shorter than that of the call, perhaps shorter than this one.
      await field.extend(Math.min(leaseMs, owner.unconfirmedMs))
    }
    owner.endSooner(hold, leaseMs)
    await field.shorten(leaseMs)
    owner.throwIfLost()
  })
}

const NO_LEVEL_LEFT: RemainingLevels = { levelCount: 0 }

/** Sets the count in Redis to that of the levels, in its turn. Never rejects: a failure is reported. */
export function releaseUntilKnown(
  owner: LeaseOwner,
  limitMs: number,
  levels = NO_LEVEL_LEFT,
): Promise<unknown> {
  const { field, session } = owner
  return field
    .runExclusive(() => field.releaseUntilKnown(levels, limitMs))
    .catch((error: unknown) => reportFailedRelease(session, owner, error))
}

/** The same without a limit; a client that closes waits for it. */
export function releaseInBackground(owner: LeaseOwner, levels = NO_LEVEL_LEFT): Promise<unknown> {
  const work = releaseUntilKnown(owner, Infinity, levels)
  owner.session.background.run(work)
  return work
}

/** Starts to watch the lease of what this client holds since `since` (monotonic ms). */
export function watchLease(owner: LeaseOwner & LeasedLock & HeldLock, grant: Grant, since: number): Watch {
  const { watchdog, held, options } = owner.session
  const { maxHoldMs } = options
  const limited = maxHoldMs === undefined ? grant : { ...grant, renewForMs: since - grant.sentAt + maxHoldMs }
  const watch = watchdog.watch(owner, limited)
  held.add(owner)
  return watch
}

/** @param watch of a lease that has ended; null: it was lost otherwise */
export function lossOf(
  { lockName, owner, loss, session }: LeaseOwner & { readonly loss: Loss },
  reason: LossReason,
  watch: Watch | null,
  renewed: boolean,
): LockLostError {
  const end = watch ? loss.endOfLease(watch, session.runtime.now(), renewed) : {}
  return new LockLostError({ lockName, owner, reason, ...end })
}
