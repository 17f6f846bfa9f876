import type { Answer, Attempt, Place, WaitOutcome, WaitRequest } from '@holdfast/waiter'
import { ANSWER_MS } from './acquire-options.js'
import { undoLate, type Busy, type CallInProgress, type Held, type NotYet } from './call-in-progress.js'
import { Acquisition } from './acquisition.js'
import { enclosing } from '../context/context.js'
import { LockBusyError } from '../errors.js'
import { failureOfTry, ForeignWait, mayBeString, pauseBehindString, type Trier } from './foreign-wait.js'
import { LineBound } from './line-bound.js'
import type { AcquisitionPath } from '../diagnostics/messages.js'
import type { CallerLine, QueueCandidate } from '../kinds/lock-protocol.js'
import type { ReentryRule } from '../entry/entry-commands.js'
import type { PushedGrant } from '../pass/grants.js'
import type { PassedHold } from '../pass/local-pass.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import type { AcquireReply, HeldReply } from '../scripts/acquire-reply.js'
import type { AcquireServices } from './services.js'

/**
 * Acquires a lock that nothing around the call holds: one acquisition, in the queue of its name. It is its own wait
 * request and reply handler, so that a call costs one object and no closures.
 */
export class Contention<T>
  implements QueueCandidate, WaitRequest<boolean, T>, ReplyHandler<AcquireReply, Attempt<boolean>>, Trier
{
  readonly rule: ReentryRule
  private line: CallerLine | null = null
  /** Created for its first try: of a thousand waiting calls, only the head has had one. */
  private made: Acquisition | null = null
  /** The caller has left: a try whose turn comes now must not be sent. */
  hasLeft = false
  private refusals = 0
  private foreignWait: ForeignWait | null = null
  private path: AcquisitionPath = 'remote'

  /** @throws SelfDeadlockError its wait would never end */
  constructor(
    private readonly session: AcquireServices,
    private readonly call: CallInProgress<T>,
  ) {
    const { protocol, site, waitMs } = call
    this.rule = protocol.reentryRule(site, waitMs === undefined)
  }

  get owner(): string {
    return this.acquisition.owner
  }

  // Properties of the wait request are read from the call and its queue: waiting calls keep no copies.

  get queue(): string {
    return this.ownLine.queue
  }

  get topic(): string | undefined {
    return this.ownLine.topic
  }

  get ticks(): boolean | undefined {
    return this.ownLine.ticks
  }

  get shared(): boolean | undefined {
    return this.ownLine.shared
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
    return this.call.signal
  }

  private get ownLine(): CallerLine {
    return (this.line ??= this.call.protocol.lineOf(this))
  }

  private get acquisition(): Acquisition {
    const { session, call, rule } = this
    return (this.made ??= new Acquisition(session, call.protocol, call.contextToHold(), rule))
  }

  /**
   * Also while its own client has the lock and may pass it on: Redis would only refuse, and a caller that sleeps can be
   * offered the lock. `Acquisition.passesNoMore` ends that, or the bounds of passing do. Not with `maxWaiting`: a call that
   * has to wait may be refused, which is said at once.
   */
  standsBackMs(after: 'message' | 'entering'): number {
    const { recentHolds, held, runtime, idleLocks } = this.session
    const { protocol, leaseMs } = this.call
    if (this.bound?.decides || idleLocks?.has(protocol.key)) {
      return 0
    }
    const ms = recentHolds.standsBackMs(protocol, after)
    const owner =
      after === 'entering' && leaseMs === undefined && protocol.passing
        ? held.ownerOf(protocol.key)
        : undefined
    return owner ? Math.max(ms, owner.passesForMs(runtime.now())) : ms
  }

  // A wait may end in any async context: a message's, or that of another caller's release. Subscribers are called in
  // the caller's own.

  conclude(outcome: WaitOutcome<boolean>): T | Promise<T> {
    const { observer } = this.call
    return observer ? observer.runInAsyncScope(() => this.goOn(outcome)) : this.goOn(outcome)
  }

  rejected(reason: unknown): never {
    const { observer } = this.call
    return observer ? observer.runInAsyncScope(() => this.gone(reason)) : this.gone(reason)
  }

  private goOn(outcome: WaitOutcome<boolean>): T | Promise<T> {
    let obtained: Held | Busy | NotYet
    try {
      obtained = this.obtained(outcome)
    } catch (error) {
      return this.gone(error)
    }
    return this.call.settled(obtained)
  }

  private gone(error: unknown): never {
    this.abandon()
    return this.call.failed(error)
  }

  private obtained(outcome: WaitOutcome<boolean>): Held | Busy | NotYet {
    this.hasLeft = true
    if (outcome.kind === 'left' && this.bound?.busy) {
      throw this.bound.busy
    }
    if (outcome.kind === 'done' && outcome.value) {
      return this.begin() ?? this.abandon('expired-on-arrival')
    }
    this.abandon()
    return outcome.kind === 'done' || outcome.kind === 'left' ? 'look-again' : this.call.giveUp(outcome)
  }

  private begin(): Held | null {
    const { acquisition, call } = this
    const hold = acquisition.begin(call)
    if (!hold) {
      return null
    }
    // The acquisition of a withLock belongs to its frame only: siblings in the same context stay excluded.
    acquisition.keepIn(call.ofCallback ? null : (call.site?.context ?? null))
    return { kind: 'held', path: this.path, hold, acquisition, siblingMutex: null }
  }

  /** Undoes what a late or unanswered try may have done in Redis. */
  abandon<T = undefined>(result?: T): T {
    this.hasLeft = true
    undoLate(this.made, this.call)
    return result as T
  }

  /**
   * Enters the queue. An attempt that is `done` with false means: the call's context came to hold the lock, so there
   * is something to re-enter.
   * @throws LockBusyError
   */
  standInLine(): Promise<T> {
    const { protocol, site, maxWaiting, waitMs } = this.call
    if (maxWaiting !== undefined && waitMs !== 0 && protocol.boundsLine !== true) {
      this.line = this.boundTo(maxWaiting)
    }
    const place = this.session.waiter.enter<boolean, T>(this)
    if (this.bound?.isFirst === false) {
      this.session.background.run(this.bound.watch(place))
    }
    const context = site?.context
    if (!context) {
      return place.outcome
    }
    const stopListening = context.onHeld(protocol.scope, () => place.leave())
    return place.outcome.finally(stopListening)
  }

  private boundTo(maxWaiting: number): LineBound {
    const { lockName, key } = this.call.protocol
    const holder = () => this.session.lastHolders.holderOf(key)
    return new LineBound(this.session, { lockName, key, holder }, this.ownLine, maxWaiting)
  }

  private get bound(): LineBound | null {
    return this.line instanceof LineBound ? this.line : null
  }

  attempt(): Answer<Attempt<boolean>> {
    const { protocol, site } = this.call
    const context = site?.context
    return context ? context.serialized(protocol.scope, async () => this.tryNow()) : this.tryNow()
  }

  onParked(place: Place<T>): void {
    this.call.parked(place)
  }

  onWoken(): void {
    this.call.publication?.woken(this.session.runtime.now())
  }

  private tryNow(): Answer<Attempt<boolean>> {
    const { protocol, site } = this.call
    if (site && enclosing(site, protocol.scope)) {
      return Promise.resolve({ kind: 'done', value: false })
    }
    if (this.hasLeft) {
      return Promise.resolve({ kind: 'refused' })
    }
    const idle = this.takeIdle()
    if (idle) {
      return idle
    }
    this.call.publication?.trying()
    return this.foreignWait?.lookThenTry() ?? this.tryInRedis()
  }

  /** Takes the lock that an earlier caller of this client has left idle, or waits for its release. Null: there is none. */
  private takeIdle(): Answer<Attempt<boolean>> | null {
    const { idleLocks } = this.session
    if (!idleLocks || idleLocks.isEmpty) {
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

  tryInRedis(): Answer<Attempt<boolean>> {
    const { bound } = this
    const answer = this.acquisition.tryFirst(this.call, this)
    return bound?.decides ? bound.after(answer) : answer
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
    this.path = offer.kind
    this.call.publication?.passedOn()
    return true
  }

  /** A hold passed on by another caller of this client. A call that wants a lease or a token of its own asks Redis. */
  private takeOver(passed: PassedHold): boolean {
    const { leaseMs, protocol } = this.call
    return protocol.passing !== null && leaseMs === undefined && this.acquisition.takeOver(passed, this.call)
  }

  /** A grant by Redis. A call that wants a shorter lease asks Redis. */
  private takeGrant(grant: PushedGrant): boolean {
    const { leaseMs = Number.POSITIVE_INFINITY } = this.call
    return (
      leaseMs >= grant.ttlMs && this.owner === grant.owner && this.acquisition.takeGrant(grant, this.call)
    )
  }

  onReply(reply: AcquireReply): Attempt<boolean> {
    if (reply.kind === 'acquired') {
      this.call.publication?.succeeded(this.session.runtime)
      const retryAfterMs = this.call.leaseMs ?? this.acquisition.lease.ttlMs
      return { kind: 'done', value: true, retryAfterMs, takesAll: this.shared !== true }
    }
    this.call.publication?.refused()
    if (reply.kind !== 'held') {
      return { kind: 'refused' }
    }
    // After its caller has left, nothing would remove the entry again, and many services put ids into names (I8).
    if (!this.hasLeft) {
      this.call.refused(reply)
    }
    if (reply.full) {
      throw this.full(reply.full)
    }
    this.refusals += 1
    const leaseMs = reply.ttlMs >= 0 ? reply.ttlMs : Number.POSITIVE_INFINITY
    const behindString = reply.isForeign ? pauseBehindString(this.session, this.call, reply) : undefined
    const pauseMs = this.call.protocol.pauseAfter?.(this.refusals) ?? behindString ?? Number.POSITIVE_INFINITY
    return { kind: 'refused', retryAfterMs: Math.min(leaseMs, pauseMs, this.lifeAfter(reply)) }
  }

  /** Redis has not put it into the queue of a fair lock. */
  private full({ waiting, firstWaitedMs }: NonNullable<HeldReply['full']>): LockBusyError {
    const { protocol, maxWaiting = 0 } = this.call
    const { lockName, key } = protocol
    const holder = this.session.lastHolders.holderOf(key)
    return new LockBusyError({ lockName, waiting, maxWaiting, firstWaitedMs, holder })
  }

  /**
   * A waiter that can be granted the lock tries again while it still counts as alive: a dead waiter gets no grants.
   */
  private lifeAfter({ aliveUntil }: HeldReply): number {
    const { plainQueue } = this.session
    return aliveUntil === undefined || !plainQueue ? Number.POSITIVE_INFINITY : plainQueue.aliveForMs / 2
  }

  onError(error: unknown): Attempt<boolean> | Promise<Attempt<boolean>> {
    const { session, call } = this
    return mayBeString(error, call.protocol)
      ? (this.foreignWait ??= new ForeignWait(session, call.protocol, this)).afterRefusal(error)
      : failureOfTry(error, call.protocol)
  }
}
