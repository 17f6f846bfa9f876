import type { Grant, Watch } from '@holdfast/watchdog'
import type { Acquisition } from './acquisition.js'

/** From now on this client has it, since then (monotonic ms). */
export function watchLease(acquisition: Acquisition, grant: Grant, since: number): Watch {
  const { watchdog, held, options } = acquisition.session
  const { maxHoldMs } = options
  const limited = maxHoldMs === undefined ? grant : { ...grant, renewForMs: since - grant.sentAt + maxHoldMs }
  const watch = watchdog.watch(acquisition, limited)
  held.add(acquisition)
  return watch
}

/** Whether so much of a lease is trusted that Redis need not be asked: with less, something is wrong with renewals. */
export function isWellTrusted(trustedForMs: number, ttlMs: number): boolean {
  return trustedForMs >= ttlMs / 3
}

/** Lives at least this long from now. @throws LockLostError, RedisUnavailableError */
export function extendLease(acquisition: Acquisition, leaseMs: number): Promise<void> {
  const { commands, loss } = acquisition
  return commands.oneAtATime(async () => {
    loss.throwIfSet()
    if (!acquisition.isReleased) {
      await extendNow(() => acquisition, leaseMs)
      loss.throwIfSet()
    }
  })
}

/** The same for whoever holds it, who may pass it on meanwhile. @throws RedisUnavailableError */
export function extendForHolder(holderNow: () => Acquisition, leaseMs: number): Promise<void> {
  return holderNow().commands.besideHolds(async () => {
    if (!holderNow().isOver) {
      await extendNow(holderNow, leaseMs)
    }
  })
}

/** In a turn of its owner's commands. */
export async function extendNow(holderNow: () => Acquisition, leaseMs: number): Promise<void> {
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
export async function verifyLease(acquisition: Acquisition): Promise<void> {
  const { loss, session } = acquisition
  loss.throwIfSet()
  const sentAt = session.clock.now()
  const remainingMs = await acquisition.remaining()
  if (remainingMs === null && !acquisition.isReleased) {
    acquisition.lose('gone')
  } else if (remainingMs !== null && remainingMs >= 0) {
    // The primary may have had a renewal that no replica has: where those are waited for, it adds no trust.
    acquisition.watch?.correct(sentAt, remainingMs, { mayGrow: !session.options.replicas })
  }
  loss.throwIfSet()
}
