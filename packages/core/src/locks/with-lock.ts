import type { Acquirer } from '../acquirer.js'
import { Context, Frame, type Place } from '../context.js'
import { LockLostError } from '../errors.js'
import type { Hold, ReleaseOutcome } from '../hold.js'
import { endTurn } from '../reentry.js'
import type { Session } from '../session.js'
import type { LockProtocol } from './lock-protocol.js'

/** All durations in milliseconds. */
export interface AcquireOptions {
  /** How long to wait. Left out: for ever (`tryAcquire`: one attempt). 0: one attempt. */
  waitMs?: number | undefined
  /** Redis gives the lock back after this long, whatever happens. Left out: the watchdog renews. */
  leaseMs?: number | undefined
  /** Ends the wait; the call rejects with its reason. */
  signal?: AbortSignal | undefined
}

export interface WithLockCall {
  readonly session: Session
  readonly acquirer: Acquirer
  readonly protocol: LockProtocol
  readonly place: Place | null
  readonly options: AcquireOptions
}

export async function withLock<T>(call: WithLockCall, callback: (hold: Hold) => Promise<T> | T): Promise<T> {
  const { session, acquirer, protocol, options } = call
  // Outside any context the callback gets one, so that what is called from inside it re-enters.
  const own = call.place ? null : new Context(session.nextThreadId(), null)
  const place = call.place ?? { context: own as Context, frame: null }
  const { waitMs, leaseMs, signal } = options
  const obtained = await acquirer.obtain(protocol, { waitMs, leaseMs, signal, place, ofCallback: true })
  if (obtained.kind === 'busy') {
    throw obtained.error()
  }
  const { hold, acquisition, turn } = obtained
  const frame = new Frame(place.context, place.frame, protocol.key, acquisition)
  const close = (): void => {
    frame.alive = false
    if (own) {
      own.alive = false
    }
  }
  try {
    const inside = session.contexts.enter({ context: place.context, frame }, async () => callback(hold))
    const result = await inside.finally(close)
    if ((await releaseQuietly(hold)) === 'lost') {
      throw lostWith(hold, result)
    }
    return result
  } finally {
    await releaseQuietly(hold)
    // Levels taken by hand inside and not given back stay with the context, as with a Redisson thread. Not while
    // another withLock is still inside it: that would let its siblings in.
    if (!acquisition.isReleased && !acquisition.levels.anyOfCallback) {
      acquisition.keepIn(place.context)
    }
    endTurn(session, turn)
  }
}

/**
 * A release that fails hides neither the result nor the error of the callback: the work was done under the lock,
 * which becomes free when its lease ends. 'release-failed' tells.
 */
function releaseQuietly(hold: Hold): Promise<ReleaseOutcome | undefined> {
  return hold.release().catch(() => undefined)
}

/** The work is done, but not under the lock. */
function lostWith(hold: Hold, result: unknown): LockLostError {
  const { lockName, owner, lossError } = hold
  return new LockLostError({ lockName, owner, reason: lossError?.reason ?? 'gone', result, cause: lossError })
}
