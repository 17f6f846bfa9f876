import type { Acquisition } from './acquisition.js'
import { extendLease } from './lease-of-hold.js'
import type { LevelRequest } from './levels.js'
import { untilKnown } from './redis/until-known.js'
import { afterThisTick } from './system-clock.js'

/**
 * Asks for the lease that is wanted, of what Redis gave to a waiter for a short one. Not before this tick is over: who
 * has given the lock back by then needs no lease, and its release does not wait for the answer.
 */
export function confirmGrantSoon(acquisition: Acquisition, request: LevelRequest): void {
  afterThisTick(() => {
    if (!acquisition.isOver) {
      acquisition.session.inBackground(confirmGrant(acquisition, request))
    }
  })
}

async function confirmGrant(acquisition: Acquisition, request: LevelRequest): Promise<void> {
  const { session, levels, trustedForMs } = acquisition
  const { clock, options, abandoned } = session
  const giveUpAt = clock.now() + trustedForMs
  const limits = { clock, random: options.random, giveUpAt, signal: abandoned }
  try {
    await untilKnown(() => confirm(acquisition, request), limits)
  } catch {
    // Lost, which its signal tells; or nobody answered, and its renewals ask again.
  }
  if (levels.anyWatched) {
    acquisition.watch?.setRenewing(true)
  }
}

function confirm(acquisition: Acquisition, request: LevelRequest): Promise<void> {
  const { leaseMs = acquisition.ttlMs, note } = request
  if (acquisition.isOver) {
    return Promise.resolve()
  }
  return note ? describe(acquisition, { ...request, leaseMs }) : extendLease(acquisition, leaseMs)
}

/** Nobody but an acquire leaves a note of a hold. */
function describe(
  { commands, levels, loss, around, watch }: Acquisition,
  { leaseMs, note }: LevelRequest & { readonly leaseMs: number },
): Promise<void> {
  return commands.oneAtATime(async () => {
    loss.throwIfSet()
    // None when the last level was given back meanwhile.
    if (levels.count > 0) {
      const reply = await commands.acquire(levels.count, { leaseMs, waits: false, around, note })
      if (reply.kind === 'acquired') {
        watch?.confirm(commands.grantedAt, leaseMs)
      }
    }
  })
}
