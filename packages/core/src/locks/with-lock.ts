import type { Busy, Held } from '../acquire/acquire-call.js'
import type { AcquireOptions } from '../acquire/acquire-options.js'
import { obtain } from '../acquire/obtain.js'
import type { LockServices } from './services.js'
import type { Context, CallSite } from '../context/context.js'
import type { Hold } from '../hold.js'
import { checkCallback } from '../arguments/validate.js'
import type { LockProtocol } from '../kinds/lock-protocol.js'
import { whileHeld } from './while-held.js'

export interface WithLockCall {
  readonly session: LockServices
  readonly protocol: LockProtocol
  readonly site: CallSite | null
  readonly options: AcquireOptions | undefined
}

/**
 * While the call waits it costs no more than an `acquire`: the work for the callback starts when the lock is held.
 */
export function withLock<T>(call: WithLockCall, callback: (hold: Hold) => Promise<T> | T): Promise<T> {
  const { session, protocol, site: around, options } = call
  try {
    checkCallback(callback)
  } catch (error) {
    return Promise.reject<T>(error)
  }
  const request = {
    options,
    defaultWaitMs: session.options.waitMs,
    site: around,
    ofCallback: true,
    unscoped: null,
    byHand: null,
    calledFrom: around ? null : session.reports.originOfWait(protocol.key, 'withLock'),
  }
  // Only after the caller is resumed: the callback must run in the caller's async context.
  return obtain(session, protocol, request, heldOrThrow).then(({ hold, acquisition, siblingMutex }) => {
    const own = around ? null : acquisition.thread
    const site = around ?? { context: own as Context, frame: null }
    const parts = [{ session, acquisition, siblingMutex, site }]
    return whileHeld({ session, hold, parts }, own, callback)
  })
}

function heldOrThrow(obtained: Held | Busy): Held {
  if (obtained.kind === 'busy') {
    throw obtained.error()
  }
  return obtained
}
