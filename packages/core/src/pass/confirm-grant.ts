import type { LockEntry } from '../entry/lock-entry.js'
import { untilKnown } from '../redis/until-known.js'
import type { NoteRequest } from '../scripts/note.js'

/**
 * Requests the wanted lease for a lock that was granted with a short one. Deferred to the end of the tick: a caller
 * that has released the lock by then needs no lease, and its release need not wait for the reply. The entry may be
 * passed on before and meanwhile.
 * @param note that of the call
 */
export function confirmGrantSoon(entry: LockEntry, note: NoteRequest | undefined): void {
  const { runtime, background } = entry.services
  runtime.afterTurn(() => {
    if (!entry.holder.isOver) {
      background.run(confirmGrant(entry, note))
    }
  })
}

async function confirmGrant(entry: LockEntry, note: NoteRequest | undefined): Promise<void> {
  const giveUpAt = entry.services.runtime.now() + entry.holder.lease.trustedForMs
  const confirm = note
    ? () => entry.serial.runExclusive(() => describe(entry, note))
    : () => entry.besideHolds(() => askForWanted(entry))
  try {
    await untilKnown(confirm, entry.services, giveUpAt)
  } catch {
    // Lost, which its signal reports; or no reply, and its renewals ask again.
  }
  entry.state.confirmed()
  entry.holder.onGrantConfirmed()
}

async function askForWanted(entry: LockEntry): Promise<void> {
  const { wantedMs = 0 } = entry.state.grant.short ?? {}
  if (!entry.holder.isOver && wantedMs > 0) {
    await entry.extend(wantedMs)
  }
}

/** Only an acquire stores a note. */
async function describe(entry: LockEntry, note: NoteRequest): Promise<void> {
  const { holder } = entry
  holder.lease.throwIfLost()
  // None if the last level was released meanwhile.
  if (holder.levelCount > 0) {
    // An acquire never shortens: with the shortest lease it leaves one that was shortened as it is.
    const leaseMs = Math.max(1, entry.state.grant.short?.wantedMs ?? 0)
    const reply = await entry.acquire(holder.levelCount, { leaseMs, waits: false, rule: holder.rule, note })
    if (reply.kind === 'acquired') {
      holder.lease.confirm(entry.state.grant.sentAt, leaseMs)
    }
  }
}
