import type { LockEntry } from '../entry/lock-entry.js'
import { untilKnown } from '../redis/until-known.js'
import type { NoteRequest } from '../scripts/note.js'

/** The caller's request; without `leaseMs` the watchdog renews. */
interface LeaseRequest {
  readonly limits: { readonly leaseMs: number | undefined }
  readonly note?: NoteRequest | undefined
}

/**
 * Requests the wanted lease for a lock that was granted with a short one. Deferred to the end of the tick: a caller
 * that has released the lock by then needs no lease, and its release need not wait for the reply. The entry may be
 * passed on before and meanwhile.
 */
export function confirmGrantSoon(entry: LockEntry, request: LeaseRequest): void {
  const { runtime, background } = entry.services
  runtime.afterTurn(() => {
    if (!entry.holder.isOver) {
      background.run(confirmGrant(entry, request))
    }
  })
}

async function confirmGrant(entry: LockEntry, request: LeaseRequest): Promise<void> {
  const { runtime, abandoned } = entry.services
  const giveUpAt = runtime.now() + entry.holder.lease.trustedForMs
  const limits = { runtime, giveUpAt, signal: abandoned }
  try {
    await untilKnown(() => confirm(entry, request), limits)
  } catch {
    // Lost, which its signal reports; or no reply, and its renewals ask again.
  }
  entry.holder.onGrantConfirmed()
}

function confirm(entry: LockEntry, { limits, note }: LeaseRequest): Promise<void> {
  const { leaseMs = entry.holder.lease.ttlMs } = limits
  if (note) {
    return entry.serial.runExclusive(() => describe(entry, leaseMs, note))
  }
  return entry.besideHolds(async () => {
    if (!entry.holder.isOver && !entry.holder.lease.isShortened) {
      await entry.extend(leaseMs)
    }
  })
}

/** Only an acquire stores a note. */
async function describe(entry: LockEntry, leaseMs: number, note: NoteRequest): Promise<void> {
  const { holder } = entry
  holder.lease.throwIfLost()
  // None if the last level was released meanwhile.
  if (holder.levelCount > 0) {
    // An acquire never shortens: with the shortest lease it leaves one that was shortened as it is.
    const terms = { leaseMs: holder.lease.isShortened ? 1 : leaseMs, waits: false, rule: holder.rule, note }
    const reply = await entry.acquire(holder.levelCount, terms)
    if (reply.kind === 'acquired') {
      holder.lease.confirm(entry.state.grantedAt, terms.leaseMs)
    }
  }
}
