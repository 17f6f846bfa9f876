import { AcquireCall, type AcquireRequest, type Busy, type Held, type NotYet } from './acquire-call.js'
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
   * @returns what `finish` makes of it (a parameter, because every promise more costs each call)
   * @throws InvalidArgumentError, ContextRequiredError, LockLostError, SelfDeadlockError, RedisUnavailableError,
   *   WrongTypeError, ClientClosedError, or the reason of the signal
   */
  async obtain<T>(
    protocol: LockProtocol,
    request: AcquireRequest,
    finish: (obtained: Held | Busy) => T,
  ): Promise<T> {
    const { session } = this
    const call = new AcquireCall(protocol, request, session.clock, this.refusals)
    session.assertOpen(protocol.lockName)
    const { place, bare } = request
    call.bareCall = bare && bare.calls.begin(bare.method)
    let obtained: Held | Busy | NotYet = 'look-again'
    try {
      for (let stillborn = 0; typeof obtained === 'string';) {
        const outer = place ? enclosing(place, protocol.key) : undefined
        if (outer) {
          obtained = await new Reentry(session, call).into(outer)
        } else {
          const contention = new Contention(session, this.refusals, call)
          try {
            obtained = contention.conclude(await contention.standInLine())
          } catch (error) {
            contention.leaveNothing()
            throw error
          }
        }
        stillborn += obtained === 'stillborn' ? 1 : 0
        if (stillborn === MOST_STILLBORN) {
          throw this.leaseTooShort(protocol)
        }
      }
      return finish(obtained)
    } finally {
      call.bareCall?.end(typeof obtained === 'object' && obtained.kind === 'held' ? obtained.hold : null)
      if (!session.waiter.isWaiting(protocol.key)) {
        this.refusals.forget(protocol.key)
      }
    }
  }

  private leaseTooShort({ lockName }: LockProtocol): LockLostError {
    return new LockLostError({ lockName, owner: this.session.clientId, reason: 'expired' })
  }
}
