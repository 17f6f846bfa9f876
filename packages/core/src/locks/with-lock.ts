import type { AcquireOptions, Busy, Held } from '../acquire-call.js'
import type { Acquirer } from '../acquirer.js'
import type { Acquisition } from '../acquisition.js'
import { Context, Frame, type Place } from '../context.js'
import { LockLostError } from '../errors.js'
import type { Hold, ReleaseOutcome } from '../hold.js'
import { endTurn } from '../reentry.js'
import type { Session } from '../session.js'
import { checkFunction } from '../validate.js'
import type { LockProtocol } from './lock-protocol.js'

export interface WithLockCall {
  readonly session: Session
  readonly acquirer: Acquirer
  readonly protocol: LockProtocol
  readonly place: Place | null
  readonly options: AcquireOptions
}

export async function withLock<T>(call: WithLockCall, callback: (hold: Hold) => Promise<T> | T): Promise<T> {
  checkFunction('callback', callback)
  const { session, acquirer, protocol, options } = call
  // Outside any context the callback gets one, so that what is called from inside it re-enters.
  const own = call.place ? null : new Context(session.nextThreadId(), null)
  const request = {
    options,
    defaultWaitMs: undefined,
    // Nothing else can be in a context of its own yet: the call itself needs none.
    place: call.place,
    contextId: own?.id,
    ofCallback: true,
    bare: null,
  }
  const { hold, acquisition, turn } = await acquirer.obtain(protocol, request, heldOrThrow)
  const place = call.place ?? { context: own as Context, frame: null }
  const frame = new Frame(place.context, place.frame, protocol.scope, acquisition)
  let result: T | undefined
  let failure: { readonly error: unknown } | null = null
  try {
    result = await session.contexts.enter({ context: place.context, frame }, () => callback(hold))
  } catch (error) {
    failure = { error }
  }
  end(frame, own)
  let released: ReleaseOutcome | null = null
  try {
    released = await hold.release()
  } catch {
    // A release that fails hides neither the result nor the error of the callback: the work was done under the
    // lock, which becomes free when its lease ends. 'release-failed' tells.
  }
  leave(place.context, acquisition)
  endTurn(session, turn)
  if (failure) {
    throw failure.error
  }
  if (released === 'lost') {
    throw lostWith(hold, result)
  }
  return result as T
}

/** A task that outlives the callback acquires nothing in its name. */
function end(frame: Frame, own: Context | null): void {
  frame.alive = false
  if (own) {
    own.alive = false
  }
}

/**
 * Levels taken by hand inside and not given back stay with the context, as with a Redisson thread. Not while
 * another withLock is still inside it: that would let its siblings in.
 */
function leave(context: Context, acquisition: Acquisition): void {
  if (!acquisition.isReleased && !acquisition.levels.anyOfCallback) {
    acquisition.keepIn(context)
  }
}

function heldOrThrow(obtained: Held | Busy): Held {
  if (obtained.kind === 'busy') {
    throw obtained.error()
  }
  return obtained
}

/** The work is done, but not under the lock. */
function lostWith(hold: Hold, result: unknown): LockLostError {
  const { lockName, owner, lossError } = hold
  return new LockLostError({ lockName, owner, reason: lossError?.reason ?? 'gone', result, cause: lossError })
}
