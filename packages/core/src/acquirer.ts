import { AcquireCall, type AcquireRequest, type Busy, type Held } from './acquire-call.js'
import { Contention } from './contention.js'
import { enclosing } from './context.js'
import { LockLostError } from './errors.js'
import type { LockProtocol } from './locks/lock-protocol.js'
import { Reentry } from './reentry.js'
import { Refusals } from './refusals.js'
import type { Session } from './session.js'

// A lease can be used up before its holder hears of it; this often in a row it is too short for this connection.
const MOST_STILLBORN = 3

/** The one way to a hold, for every kind of lock: re-enter what encloses the call, or contend for it. */
export class Acquirer {
  private readonly refusals: Refusals

  constructor(private readonly session: Session) {
    this.refusals = new Refusals(session.clock)
  }

  /**
   * @throws LockLostError, SelfDeadlockError, RedisUnavailableError, WrongTypeError, ClientClosedError, or the
   *   reason of the signal
   */
  async obtain(protocol: LockProtocol, request: AcquireRequest): Promise<Held | Busy> {
    const { session } = this
    session.assertOpen(protocol.lockName)
    const call = new AcquireCall(protocol, request, session.clock, this.refusals)
    try {
      for (let stillborn = 0; stillborn < MOST_STILLBORN;) {
        const outer = request.place ? enclosing(request.place, protocol.key) : undefined
        const obtained = outer
          ? await new Reentry(session, call).into(outer)
          : await new Contention(session, this.refusals, call).run()
        if (typeof obtained !== 'string') {
          return obtained
        }
        stillborn += obtained === 'stillborn' ? 1 : 0
      }
    } finally {
      if (!session.waiter.isWaiting(protocol.key)) {
        this.refusals.forget(protocol.key)
      }
    }
    throw new LockLostError({ lockName: protocol.lockName, owner: session.clientId, reason: 'expired' })
  }
}
