import type { AcquireOptions } from '../acquire-call.js'
import type { Acquirer } from '../acquirer.js'
import type { Context, Place } from '../context.js'
import type { Hold } from '../hold.js'
import type { Session } from '../session.js'
import { checkFunction } from '../validate.js'
import type { LockProtocol } from './lock-protocol.js'
import { whileHeld } from './while-held.js'

export interface WithLockCall {
  readonly session: Session
  readonly acquirer: Acquirer
  readonly protocol: LockProtocol
  readonly place: Place | null
  readonly options: AcquireOptions
}

/** Whoever waits for it costs no more than its call: the callback's part begins when the lock is there. */
export function withLock<T>(call: WithLockCall, callback: (hold: Hold) => Promise<T> | T): Promise<T> {
  const { session, acquirer, protocol, place: around, options } = call
  try {
    checkFunction('callback', callback)
  } catch (error) {
    return Promise.reject<T>(error)
  }
  const request = {
    options,
    defaultWaitMs: undefined,
    place: around,
    ofCallback: true,
    bare: null,
  }
  return acquirer.obtain<T>(protocol, request, (obtained) => {
    if (obtained.kind === 'busy') {
      throw obtained.error()
    }
    const { hold, acquisition, turn } = obtained
    const own = around ? null : acquisition.thread
    const place = around ?? { context: own as Context, frame: null }
    return whileHeld({ hold, parts: [{ session, acquisition, turn, place }] }, own, callback)
  })
}
