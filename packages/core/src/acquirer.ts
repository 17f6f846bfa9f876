import { AcquireCall, type AcquireRequest, type Busy, type Held, type NotYet } from './acquire-call.js'
import { Contention } from './contention.js'
import { enclosing } from './context.js'
import { LockLostError } from './errors.js'
import type { LockProtocol } from './locks/lock-protocol.js'
import { Reentry } from './reentry.js'
import type { Session } from './session.js'

// A lease can be used up before its holder hears of it; this often in a row it is too short for this connection.
const MOST_STILLBORN = 3

/** The one way to a hold, for every kind of lock: re-enter what encloses the call, or contend for it. */
export class Acquirer {
  constructor(private readonly session: Session) {}

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
    const call = new AcquireCall(protocol, request, session)
    session.assertOpen(protocol.lockName)
    const { place } = request
    this.begin(call, request)
    let obtained: Held | Busy | NotYet = 'look-again'
    let failure: unknown = undefined
    try {
      for (let stillborn = 0; typeof obtained === 'string';) {
        const outer = place ? enclosing(place, protocol.scope) : undefined
        if (outer) {
          obtained = await new Reentry(session, call).into(outer)
        } else {
          const contention = new Contention(session, call)
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
    } catch (error) {
      failure = error
      throw error
    } finally {
      this.end(call, obtained, failure)
    }
  }

  private begin(call: AcquireCall, { bare, isPart }: AcquireRequest): void {
    call.bareCall = bare && bare.calls.begin(bare.method)
    if (!isPart) {
      call.begin()
    }
  }

  /** Whatever came of the call, before anybody hears of it. */
  private end(call: AcquireCall, obtained: Held | Busy | NotYet, error: unknown): void {
    const { refusals, watchdog, waits } = this.session
    const { isAwaited, key } = call.protocol
    const hold = typeof obtained === 'object' && obtained.kind === 'held' ? obtained.hold : null
    if (!hold) {
      // I3: what ended a wait may be a timer or a signal, after a pause in which the trust in other holds ran out.
      watchdog.endOverdueTrust()
    }
    waits.ended(call)
    call.bareCall?.end(hold)
    this.publishEnd(call, obtained, error)
    if (!isAwaited) {
      refusals.forget(key)
    }
  }

  private publishEnd(call: AcquireCall, obtained: Held | Busy | NotYet, error: unknown): void {
    const publication = call.observed()
    if (!publication) {
      return
    }
    const { clock, refusals } = this.session
    const { protocol } = call
    if (typeof obtained === 'string') {
      publication.failed(error, call.signal, clock.now())
    } else if (obtained.kind === 'busy') {
      publication.timedOut(refusals.holderOf(protocol.key), clock.now())
    } else {
      const holder = publication.hasWaited ? refusals.holderOf(protocol.key) : undefined
      publication.acquired(obtained.path, holder, this.obtainedAt(obtained))
    }
  }

  /** What a command of the call brought was dated in this turn. */
  private obtainedAt({ path, acquisition }: Held): number {
    const begun = path === 'remote' ? acquisition.publication : null
    return begun ? begun.startedAt : this.session.clock.now()
  }

  private leaseTooShort({ lockName }: LockProtocol): LockLostError {
    return new LockLostError({ lockName, owner: this.session.clientId, reason: 'expired' })
  }
}
