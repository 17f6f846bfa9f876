import type { EntryServices, LockEntry } from './lock-entry.js'
import { untilKnown } from '../redis/until-known.js'
import type { NoteRequest } from '../scripts/lock.js'

/** What its caller wants; without `leaseMs` the watchdog renews. */
interface LeaseRequest {
  readonly leaseMs: number | undefined
  readonly note?: NoteRequest | undefined
}

/** Whether so much of a lease is trusted that Redis need not be asked: with less, something is wrong with renewals. */
export function isWellTrusted(trustedForMs: number, ttlMs: number): boolean {
  return trustedForMs >= ttlMs / 3
}

/**
 * Asks for the lease that is wanted, of what Redis gave to a waiter for a short one. Not before this tick is over: a
 * caller that has given the lock back by then needs no lease, and its release does not wait for the answer. The entry
 * may be handed over before and meanwhile.
 */
export function confirmGrantSoon(entry: LockEntry, services: EntryServices, request: LeaseRequest): void {
  services.runtime.afterTurn(() => {
    if (!entry.holder.isOver) {
      services.background.run(confirmGrant(entry, services, request))
    }
  })
}

async function confirmGrant(
  entry: LockEntry,
  { runtime, abandoned }: EntryServices,
  request: LeaseRequest,
): Promise<void> {
  const giveUpAt = runtime.now() + entry.holder.trustedForMs
  const limits = { runtime, giveUpAt, signal: abandoned }
  try {
    await untilKnown(() => confirm(entry, request), limits)
  } catch {
    // Lost, which its signal tells; or nobody answered, and its renewals ask again.
  }
  entry.holder.onGrantConfirmed()
}

function confirm(entry: LockEntry, { leaseMs = entry.holder.ttlMs, note }: LeaseRequest): Promise<void> {
  if (note) {
    return entry.runExclusive(() => describe(entry, leaseMs, note))
  }
  return entry.besideHolds(async () => {
    if (!entry.holder.isOver) {
      await entry.extend(leaseMs)
    }
  })
}

/** Nothing but an acquire leaves a note of a hold. */
async function describe(entry: LockEntry, leaseMs: number, note: NoteRequest): Promise<void> {
  const { holder } = entry
  holder.throwIfLost()
  // None when the last level was given back meanwhile.
  if (holder.levelCount > 0) {
    const terms = { leaseMs, waits: false, rule: holder.rule, note }
    const reply = await entry.acquire(holder.levelCount, terms)
    if (reply.kind === 'acquired') {
      holder.onLeaseConfirmed(entry.grantedAt, leaseMs)
    }
  }
}
