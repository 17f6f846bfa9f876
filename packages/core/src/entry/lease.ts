import type { Watch } from '@holdfast/watchdog'
import type { ReentryRule } from './entry-command.js'
import type { LossReason } from '../errors.js'
import type { Loss } from '../hold.js'
import type { EntryServices, OwnerCommands } from './owner-commands.js'

/** The acquisition that has what is in Redis now, as the keepers of its lease see it. */
export interface Holder {
  readonly owner: string
  /** The lock's key in Redis. */
  readonly key: string
  readonly session: EntryServices
  readonly commands: OwnerCommands
  readonly watch: Watch | null
  readonly levels: { readonly count: number; readonly anyWatched: boolean }
  readonly loss: Loss
  readonly rule: ReentryRule
  readonly isReleased: boolean
  /** Released or lost. */
  readonly isOver: boolean
  readonly trustedForMs: number
  /** What a renewal sets, ms. */
  readonly ttlMs: number
  readonly protocol: {
    /** Makes the lease last at least this long from now, ms. */
    extend(owner: string, leaseMs: number): Promise<'renewed' | 'lost'>
  }
  /** What Redis keeps of the lease, ms, -1 when it has no end; null when this owner does not have the lock. */
  remaining(timeoutMs?: number): Promise<number | null>
  lose(reason: LossReason): void
}

/** Whether so much of a lease is trusted that Redis need not be asked: with less, something is wrong with renewals. */
export function isWellTrusted(trustedForMs: number, ttlMs: number): boolean {
  return trustedForMs >= ttlMs / 3
}

/** Lives at least this long from now. @throws LockLostError, RedisUnavailableError */
export function extendLease(holder: Holder, leaseMs: number): Promise<void> {
  const { commands, loss } = holder
  return commands.runExclusive(async () => {
    loss.throwIfSet()
    if (!holder.isReleased) {
      await extendNow(() => holder, leaseMs)
      loss.throwIfSet()
    }
  })
}

/** The same for whoever holds it, who may pass it on meanwhile. @throws RedisUnavailableError */
export function extendForHolder(holderNow: () => Holder, leaseMs: number): Promise<void> {
  return holderNow().commands.besideHolds(async () => {
    if (!holderNow().isOver) {
      await extendNow(holderNow, leaseMs)
    }
  })
}

/** In a turn of its owner's commands. */
export async function extendNow(holderNow: () => Holder, leaseMs: number): Promise<void> {
  const { commands, protocol, session } = holderNow()
  const owner = await commands.knownName()
  const sentAt = session.clock.now()
  if ((await protocol.extend(owner, leaseMs)) === 'lost') {
    holderNow().lose('gone')
    return
  }
  commands.noteLease(sentAt, leaseMs)
  holderNow().watch?.confirm(sentAt, leaseMs)
}

/** Whether its owner still has the lock. @throws LockLostError, RedisUnavailableError */
export async function verifyLease(holder: Holder): Promise<void> {
  const { loss, session } = holder
  loss.throwIfSet()
  const sentAt = session.clock.now()
  const remainingMs = await holder.remaining()
  if (remainingMs === null && !holder.isReleased) {
    holder.lose('gone')
  } else if (remainingMs !== null && remainingMs >= 0) {
    // The primary may have had a renewal that no replica has: where those are waited for, it adds no trust.
    holder.watch?.correct(sentAt, remainingMs, { mayGrow: !session.options.replicas })
  }
  loss.throwIfSet()
}
