import { extendForHolder, type Holder } from './lease.js'
import type { Handover } from './handover.js'
import { untilKnown } from '../redis/until-known.js'
import type { NoteRequest } from '../scripts/lock.js'

/** What its caller wants; without `leaseMs` the watchdog renews. */
interface LeaseRequest {
  readonly leaseMs: number | undefined
  readonly note?: NoteRequest | undefined
}

/**
 * Asks for the lease that is wanted, of what Redis gave to a waiter for a short one. Not before this tick is over: who
 * has given the lock back by then needs no lease, and its release does not wait for the answer.
 */
export function confirmGrantSoon(holder: Holder, handover: Handover | null, request: LeaseRequest): void {
  const { session } = holder
  // It may be passed on before and meanwhile.
  const holderNow = (): Holder => handover?.holderNow ?? holder
  session.runtime.afterTurn(() => {
    if (!holderNow().isOver) {
      session.background.run(confirmGrant(holderNow, handover, request))
    }
  })
}

async function confirmGrant(
  holderNow: () => Holder,
  handover: Handover | null,
  request: LeaseRequest,
): Promise<void> {
  const { session, trustedForMs } = holderNow()
  const { runtime, abandoned } = session
  const giveUpAt = runtime.now() + trustedForMs
  const limits = { runtime, giveUpAt, signal: abandoned }
  try {
    await untilKnown(() => confirm(holderNow, request), limits)
  } catch {
    // Lost, which its signal tells; or nobody answered, and its renewals ask again.
  }
  const { levels, watch } = holderNow()
  handover?.confirmed()
  if (levels.anyWatched) {
    watch?.setRenewing(true)
  }
}

function confirm(holderNow: () => Holder, { leaseMs, note }: LeaseRequest): Promise<void> {
  const { commands, ttlMs } = holderNow()
  const wanted = leaseMs ?? ttlMs
  return note
    ? commands.runExclusive(() => describe(holderNow(), wanted, note))
    : extendForHolder(holderNow, wanted)
}

/** Nobody but an acquire leaves a note of a hold. */
async function describe(
  { commands, levels, loss, rule, watch }: Holder,
  leaseMs: number,
  note: NoteRequest,
): Promise<void> {
  loss.throwIfSet()
  // None when the last level was given back meanwhile.
  if (levels.count > 0) {
    const reply = await commands.acquire(levels.count, { leaseMs, waits: false, rule, note })
    if (reply.kind === 'acquired') {
      watch?.confirm(commands.grantedAt, leaseMs)
    }
  }
}
