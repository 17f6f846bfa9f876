import type { AcquireOptions, Busy, Held } from '../acquire-call.js'
import type { Acquirer } from '../acquirer.js'
import { Context, type Place } from '../context.js'
import type { Hold } from '../hold.js'
import type { Session } from '../session.js'
import type { LockProtocol } from './lock-protocol.js'
import { whileHeld, type Taken } from './while-held.js'

export interface WithLockCall {
  readonly session: Session
  readonly acquirer: Acquirer
  readonly protocol: LockProtocol
  readonly place: Place | null
  readonly options: AcquireOptions
}

export function withLock<T>(call: WithLockCall, callback: (hold: Hold) => Promise<T> | T): Promise<T> {
  const { session, acquirer, protocol, options } = call
  // Outside any context the callback gets one, so that what is called from inside it re-enters.
  const own = call.place ? null : new Context(session.nextThreadId(), null)
  const request = {
    options,
    defaultWaitMs: undefined,
    // Nothing else can be in a context of its own yet: the call itself needs none.
    place: call.place,
    context: own,
    ofCallback: true,
    bare: null,
  }
  const place = call.place ?? { context: own as Context, frame: null }
  const toTaken = (obtained: Held | Busy): Taken<Hold> => {
    if (obtained.kind === 'busy') {
      throw obtained.error()
    }
    const { hold, acquisition, turn } = obtained
    return { hold, parts: [{ session, acquisition, turn, place }] }
  }
  return whileHeld(() => acquirer.obtain(protocol, request, toTaken), own, callback)
}
