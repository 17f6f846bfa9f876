import type { Answer, Attempt, Place, WaitOutcome, WaitRequest } from '@holdfast/waiter'
import { AcquireCall, type AcquireRequest, type Busy, type Finish, type Held } from './acquire-call.js'
import { ANSWER_MS } from './acquire-options.js'
import { Acquisition } from './acquisition.js'
import { failureOfTry, mayBeString } from './failed-try.js'
import { ForeignWait, pauseBehindString, type Trier } from './foreign-wait.js'
import { LineBound } from './line-bound.js'
import { enclosingAcquisition, Reentry, type EnclosingAcquisition } from './reentry.js'
import type { AcquireServices } from './services.js'
import { enclosing } from '../context/context.js'
import { ALONE, type ReentryRule } from '../entry/entry-commands.js'
import { LockBusyError } from '../errors.js'
import type { Hold } from '../hold.js'
import type { CallerLine, LockProtocol, QueueCandidate } from '../kinds/lock-protocol.js'
import type { PushedGrant } from '../pass/grants.js'
import type { IdleLocks } from '../pass/idle-locks.js'
import type { PassedHold } from '../pass/local-pass.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import type { AcquireReply, HeldReply } from '../scripts/acquire-reply.js'

/**
 * The only way to a hold, for every kind of lock. Waits as the request's options say.
 * @returns the result of `finish`, which is a parameter because another promise would cost every call
 * @throws InvalidArgumentError, ContextRequiredError, LockLostError, SelfDeadlockError, RedisUnavailableError,
 *   WrongTypeError, ClientClosedError, or the reason of the signal
 */
export function obtain<T>(
  session: AcquireServices,
  protocol: LockProtocol,
  request: AcquireRequest,
  finish: Finish<T>,
): Promise<T> {
  try {
    return look(session, new AcquireCall(session, protocol, request, finish))
  } catch (error) {
    return Promise.reject<T>(error)
  }
}

/** The call re-enters what its context holds, or contends for the lock; again, if that ends without a result. */
function look<T>(session: AcquireServices, call: AcquireCall<T>): Promise<T> {
  const { site, protocol } = call
  try {
    const outer = site ? enclosingAcquisition(site, protocol.scope) : undefined
    return outer ? reenter(session, call, outer) : new Contention(session, call).start()
  } catch (error) {
    return call.failed(error)
  }
}

function reenter<T>(session: AcquireServices, call: AcquireCall<T>, outer: EnclosingAcquisition): Promise<T> {
  return new Reentry(session, call).into(outer).then(
    (end) => (end ? call.settled(end) : look(session, call)),
    (error: unknown) => call.failed(error),
  )
}

/**
 * A call for a lock that nothing around it holds: one acquisition, in the line of its name.
 *
 *    start ──► try ──acquired──────────────► still mine? ──► held
 *               ▲ └──not free──► sleep         └── its lease ended on the way: undone, and once more
 *               └─────woken────────┤
 *                                  └── given up: undone
 *
 * The first methods are these steps, in this order. It is its own wait request and reply handler, so that a call costs
 * one object and no closures.
 */
class Contention<T>
  implements QueueCandidate, WaitRequest<boolean, T>, ReplyHandler<AcquireReply, Attempt<boolean>>, Trier
{
  readonly rule: ReentryRule
  private readonly line: CallerLine
  /** Null without `maxWaiting`, and where Redis counts those that wait. */
  private readonly bound: LineBound | null
  /** Created for its first try: of a thousand waiting calls, only the head has had one. */
  private made: Acquisition | null = null
  /** The caller has left: a try whose turn comes now must not be sent. */
  hasLeft = false
  private foreignWait: ForeignWait | null = null
  private readonly nextPauseMs: (() => number) | undefined

  /** @throws SelfDeadlockError its wait would never end; LockBusyError */
  constructor(
    private readonly session: AcquireServices,
    private readonly call: AcquireCall<T>,
  ) {
    const { protocol, site, limits } = call
    this.rule = site ? protocol.reentryRule(site, limits.waitMs === undefined) : ALONE
    this.line = protocol.lineOf(this)
    this.nextPauseMs = protocol.pauses?.()
    this.bound = this.newBound()
  }

  /** Enters the line of the lock's name, whose head tries. Leaves it once the call's context holds the lock. */
  start(): Promise<T> {
    const { session, bound, call } = this
    const place = session.waiter.enter<boolean, T>(this)
    if (bound?.isFirst === false) {
      session.background.run(bound.watch(place))
    }
    const stopListening = call.site?.context.onHeld(call.protocol.scope, () => place.leave())
    return stopListening ? place.outcome.finally(stopListening) : place.outcome
  }

  /** Try. `done` with false: the call's context came to hold the lock, so there is something to re-enter. */
  attempt(): Answer<Attempt<boolean>> {
    const { protocol, site } = this.call
    const context = site?.context
    return context ? context.serialized(protocol.scope, async () => this.tryNow()) : this.tryNow()
  }

  /** Not free: it sleeps until it is woken, or for as long as the lease lasts that keeps it out. */
  onReply(reply: AcquireReply): Attempt<boolean> {
    if (reply.kind === 'acquired') {
      this.call.publication?.succeeded(this.session.runtime)
      const retryAfterMs = this.call.limits.leaseMs ?? this.acquisition.lease.ttlMs
      return { kind: 'done', value: true, retryAfterMs, takesAll: this.shared !== true }
    }
    this.call.publication?.refused()
    return reply.kind === 'held'
      ? { kind: 'refused', retryAfterMs: this.sleepAfter(reply) }
      : { kind: 'refused' }
  }

  /** Still mine? Held. Given up: undone. Null: the call looks again. */
  private endOf(outcome: WaitOutcome<boolean>): Held | Busy | null {
    this.hasLeft = true
    if (outcome.kind === 'left' && this.bound?.busy) {
      throw this.bound.busy
    }
    if (outcome.kind === 'done' && outcome.value) {
      const hold = this.acquisition.begin(this.call)
      if (hold) {
        return this.held(hold)
      }
      this.call.tooLate()
    }
    this.abandon()
    return outcome.kind === 'done' || outcome.kind === 'left' ? null : this.call.giveUp(outcome)
  }

  private held(hold: Hold): Held {
    const { acquisition, call } = this
    // The acquisition of a withLock belongs to its frame only: siblings in the same context stay excluded.
    if (!call.ofCallback) {
      acquisition.keepInContext()
    }
    return { kind: 'held', hold, acquisition, siblingMutex: null }
  }

  /** Undoes what a late or unanswered try may have done in Redis. */
  private abandon(): void {
    this.hasLeft = true
    this.call.undo(this.made)
  }

  // A wait may end in any async context: a message's, or that of another caller's release. Subscribers are called in
  // the caller's own.

  conclude(outcome: WaitOutcome<boolean>): T | Promise<T> {
    const { seen } = this.call
    return seen ? seen.context.runInAsyncScope(() => this.goOn(outcome)) : this.goOn(outcome)
  }

  rejected(reason: unknown): never {
    const { seen } = this.call
    return seen ? seen.context.runInAsyncScope(() => this.gone(reason)) : this.gone(reason)
  }

  private goOn(outcome: WaitOutcome<boolean>): T | Promise<T> {
    const { session, call } = this
    let end: Held | Busy | null
    try {
      end = this.endOf(outcome)
    } catch (error) {
      return this.gone(error)
    }
    return end ? call.settled(end) : look(session, call)
  }

  private gone(error: unknown): never {
    this.abandon()
    return this.call.failed(error)
  }

  get owner(): string {
    return this.acquisition.owner
  }

  private get acquisition(): Acquisition {
    const { session, call, rule } = this
    const { protocol, note } = call
    return (this.made ??= new Acquisition(session, protocol, { thread: call.contextToHold(), rule, note }))
  }

  // Properties of the wait request are read from the call and its line: waiting calls keep no copies.

  get queue(): string {
    return this.line.queue
  }

  get topic(): string | undefined {
    return this.line.topic
  }

  get ticks(): boolean | undefined {
    return this.line.ticks
  }

  get shared(): boolean | undefined {
    return this.line.shared
  }

  get timeoutMs(): number {
    return this.call.timeoutMs
  }

  get startedAt(): number {
    return this.call.startedAt
  }

  get answerMs(): number {
    return ANSWER_MS
  }

  get signal(): AbortSignal | undefined {
    return this.call.limits.signal
  }

  /**
   * Also while its own client has the lock and may pass it on: Redis would only refuse, and a caller that sleeps can be
   * offered the lock. `Acquisition.passesNoMore` ends that, or the bounds of passing do. Not with `maxWaiting`: a call that
   * has to wait may be refused, which is said at once.
   */
  standsBackMs(after: 'message' | 'entering'): number {
    const { recentHolds, held, runtime, idleLocks } = this.session
    const { protocol, limits } = this.call
    if (this.bound?.decides || idleLocks?.has(protocol.key)) {
      return 0
    }
    const ms = recentHolds.standsBackMs(protocol, after)
    const owner =
      after === 'entering' && limits.leaseMs === undefined && protocol.passing
        ? held.ownerOf(protocol.key)
        : undefined
    return owner ? Math.max(ms, owner.passesForMs(runtime.now())) : ms
  }

  onParked(place: Place<T>): void {
    this.call.parked(place)
  }

  onWoken(): void {
    this.call.publication?.woken(this.session.runtime.now())
  }

  /** @throws LockBusyError so many of this client wait already */
  private newBound(): LineBound | null {
    const { session, line } = this
    const { limits, protocol } = this.call
    const { maxWaiting, waitMs } = limits
    if (maxWaiting === undefined || waitMs === 0 || protocol.boundsLine === true) {
      return null
    }
    const { lockName, key } = protocol
    const holder = () => session.lastHolders.holderOf(key)
    return new LineBound(session, { lockName, key, holder }, line, maxWaiting)
  }

  private tryNow(): Answer<Attempt<boolean>> {
    const { protocol, site } = this.call
    if (site && enclosing(site, protocol.scope)) {
      return Promise.resolve({ kind: 'done', value: false })
    }
    if (this.hasLeft) {
      return Promise.resolve({ kind: 'refused' })
    }
    const { idleLocks } = this.session
    const idle = idleLocks && this.takeIdle(idleLocks)
    if (idle) {
      return idle
    }
    this.call.publication?.trying()
    return this.foreignWait?.lookThenTry() ?? this.tryInRedis()
  }

  tryInRedis(): Answer<Attempt<boolean>> {
    const { bound } = this
    const answer = this.acquisition.tryFirst(this.call, this)
    return bound?.decides ? bound.after(answer) : answer
  }

  onError(error: unknown): Attempt<boolean> | Promise<Attempt<boolean>> {
    const { session, call } = this
    return mayBeString(error, call.protocol)
      ? (this.foreignWait ??= new ForeignWait(session, call.protocol, this)).afterRefusal(error)
      : failureOfTry(error, call.protocol)
  }

  /** For how long it sleeps unless it is woken, ms. @throws LockBusyError Redis has not put it into a full line */
  private sleepAfter(reply: HeldReply): number {
    const { session, call } = this
    const { protocol } = call
    // After its caller has left, nothing would remove the entry again, and many services put ids into names (I8).
    if (!this.hasLeft) {
      call.refused(reply)
    }
    if (reply.full) {
      const { lockName, key } = protocol
      const holder = session.lastHolders.holderOf(key)
      throw new LockBusyError({ lockName, ...reply.full, maxWaiting: call.limits.maxWaiting ?? 0, holder })
    }
    const leaseMs = reply.ttlMs >= 0 ? reply.ttlMs : Number.POSITIVE_INFINITY
    const behindString = reply.isForeign ? pauseBehindString(session, call, reply) : undefined
    const pauseMs = this.nextPauseMs?.() ?? behindString ?? Number.POSITIVE_INFINITY
    return Math.min(leaseMs, pauseMs, this.lifeAfter(reply))
  }

  /**
   * A waiter that can be granted the lock tries again while it still counts as alive: a dead waiter gets no grants.
   */
  private lifeAfter({ aliveUntil }: HeldReply): number {
    const { plainQueue } = this.session
    return aliveUntil === undefined || !plainQueue ? Number.POSITIVE_INFINITY : plainQueue.aliveForMs / 2
  }

  /** Takes the lock that an earlier caller of this client has left idle, or waits for its release. Null: there is none. */
  private takeIdle(idleLocks: IdleLocks): Answer<Attempt<boolean>> | null {
    if (idleLocks.isEmpty) {
      return null
    }
    const offered = idleLocks.offer(this.call.protocol.key, (passed) => this.accept(passed))
    if (offered === true) {
      const retryAfterMs = this.acquisition.lease.ttlMs
      const attempt: Attempt<boolean> = { kind: 'done', value: true, retryAfterMs, takesAll: true }
      return { then: (answered) => answered(attempt) }
    }
    return offered && offered.then(async () => await this.tryNow())
  }

  /** Accepts or declines an offer made while it sleeps. If declined, it asks Redis. */
  accept(given: unknown): true | undefined {
    const offer = given as PassedHold | PushedGrant
    const { site, protocol } = this.call
    if (site && enclosing(site, protocol.scope)) {
      return undefined
    }
    if (!(offer.kind === 'passed' ? this.takeOver(offer) : this.takeGrant(offer))) {
      return undefined
    }
    this.call.publication?.passedOn(offer.kind)
    return true
  }

  /** A hold passed on by another caller of this client. A call that wants a lease or a token of its own asks Redis. */
  private takeOver(passed: PassedHold): boolean {
    const { limits, protocol } = this.call
    return protocol.passing !== null && limits.leaseMs === undefined && this.acquisition.takeOver(passed)
  }

  /** A grant by Redis. A call that wants a shorter lease asks Redis. */
  private takeGrant(grant: PushedGrant): boolean {
    const { leaseMs = Number.POSITIVE_INFINITY } = this.call.limits
    return (
      leaseMs >= grant.ttlMs && this.owner === grant.owner && this.acquisition.takeGrant(grant, this.call)
    )
  }
}
