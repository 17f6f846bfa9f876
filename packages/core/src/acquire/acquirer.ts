import {
  AcquireCall,
  type AcquireRequest,
  type Busy,
  type Finish,
  type Held,
  type NotYet,
} from './acquire-call.js'
import { Contention } from './contention.js'
import { enclosingAcquisition, type EnclosingAcquisition } from './acquisition.js'
import { LockLostError } from '../errors.js'
import type { LockProtocol } from '../protocols/lock-protocol.js'
import { Reentry } from './reentry.js'
import type { Session } from '../client/session.js'

// A lease can be used up before its holder hears of it; this often in a row it is too short for this connection.
export const MAX_EXPIRED_ON_ARRIVAL = 3

/** The one way to a hold, for every kind of lock: re-enter what encloses the call, or contend for it. */
export class Acquirer {
  constructor(readonly session: Session) {}

  /**
   * @returns what `finish` makes of it: a parameter, because every promise more costs each call
   * @throws InvalidArgumentError, ContextRequiredError, LockLostError, SelfDeadlockError, RedisUnavailableError,
   *   WrongTypeError, ClientClosedError, or the reason of the signal
   */
  obtain<T>(protocol: LockProtocol, request: AcquireRequest, finish: Finish<T>): Promise<T> {
    try {
      const call = new AcquireCall(protocol, request, finish, this.session)
      this.session.assertOpen(protocol.lockName)
      this.begin(call, request)
      return this.look(call)
    } catch (error) {
      return Promise.reject<T>(error)
    }
  }

  private look<T>(call: AcquireCall<T>): Promise<T> {
    const { place, protocol } = call
    try {
      const outer = place ? enclosingAcquisition(place, protocol.scope) : undefined
      return outer ? this.reenter(outer, call) : new Contention(this, call).standInLine()
    } catch (error) {
      return this.fail(call, error)
    }
  }

  private reenter<T>(outer: EnclosingAcquisition, call: AcquireCall<T>): Promise<T> {
    return new Reentry(this.session, call).into(outer).then(
      (obtained) => this.goOn(call, obtained),
      (error: unknown) => this.fail(call, error),
    )
  }

  /** What a look at the lock has come to. */
  goOn<T>(call: AcquireCall<T>, obtained: Held | Busy | NotYet): T | Promise<T> {
    if (typeof obtained === 'string') {
      call.expiredOnArrival += obtained === 'expired-on-arrival' ? 1 : 0
      return call.expiredOnArrival === MAX_EXPIRED_ON_ARRIVAL
        ? this.fail(call, this.leaseTooShort(call.protocol))
        : this.look(call)
    }
    this.end(call, obtained)
    return call.finish(obtained)
  }

  /** It ends without a hold, and not because somebody else has the lock. */
  fail(call: AcquireCall, error: unknown): never {
    this.end(call, 'look-again', error)
    throw error
  }

  private begin(call: AcquireCall, { bare, whole }: AcquireRequest): void {
    call.bareCall = bare && bare.calls.begin(bare.method)
    if (!whole) {
      call.begin()
    }
  }

  /** Whatever came of the call, before anybody hears of it. */
  private end(call: AcquireCall, obtained: Held | Busy | NotYet, error?: unknown): void {
    const { lastHolders, watchdog, waitReporter } = this.session
    const { isAwaited, key } = call.protocol
    const hold = typeof obtained === 'object' && obtained.kind === 'held' ? obtained.hold : null
    if (!hold) {
      // I3: what ended a wait may be a timer or a signal, after a pause in which the trust in other holds ran out.
      watchdog.endOverdueTrust()
    }
    waitReporter.ended(call)
    call.bareCall?.end(hold)
    this.publishEnd(call, obtained, error)
    if (!isAwaited) {
      lastHolders.forget(key)
    }
  }

  private publishEnd(call: AcquireCall, obtained: Held | Busy | NotYet, error?: unknown): void {
    const { publication } = call
    if (!publication) {
      return
    }
    const { clock, lastHolders } = this.session
    const { protocol } = call
    if (typeof obtained === 'string') {
      publication.failed(error, call.signal, clock.now())
    } else if (obtained.kind === 'busy') {
      publication.timedOut(lastHolders.holderOf(protocol.key), clock.now())
    } else {
      const holder = publication.hasWaited ? lastHolders.holderOf(protocol.key) : undefined
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
