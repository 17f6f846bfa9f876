import type { Answer, Attempt, Ticket, WaitOutcome, WaitRequest } from '@holdfast/waiter'
import { ANSWER_MS } from './acquire-options.js'
import {
  giveBack,
  unavailableOrThrow,
  type Busy,
  type CallInProgress,
  type Held,
  type NotYet,
} from './call-in-progress.js'
import { Acquisition } from './acquisition.js'
import { enclosing } from '../context.js'
import type { AcquisitionPath } from '../diagnostics/messages.js'
import type { CallerLine, QueueCandidate } from '../protocols/lock-protocol.js'
import type { ReentryRule } from '../entry/entry-command.js'
import type { PushedGrant } from '../queue/grants.js'
import type { HandedOverHold } from '../entry/handover.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import type { AcquireReply, HeldReply } from '../scripts/lock.js'
import type { Session } from '../client/session.js'

/**
 * Taking a lock that nothing around the call holds: one acquisition, in the line of its name. It is its own request to
 * the waiter, and reads its own answers, so that a call costs one object and no closures.
 */
export class Contention<T>
  implements QueueCandidate, WaitRequest<boolean, T>, ReplyHandler<AcquireReply, Attempt<boolean>>
{
  readonly rule: ReentryRule
  private line: CallerLine | null = null
  /** Made for its first try: of a thousand who wait only the first one in line has had one. */
  private made: Acquisition | null = null
  /** The caller has left: a try whose turn comes now must not be sent. */
  private over = false
  private refusals = 0
  private path: AcquisitionPath = 'remote'

  /** @throws SelfDeadlockError its wait would never end */
  constructor(
    private readonly session: Session,
    private readonly call: CallInProgress<T>,
  ) {
    const { protocol, place, waitMs } = call
    this.rule = protocol.reentryRule(place, waitMs === undefined)
  }

  get owner(): string {
    return this.acquisition.owner
  }

  // What the waiter asks of a request is asked of the call and its line: a thousand who wait keep no copies.

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

  // What comes of a wait comes to light in whatever turn brings it: a message's, that of another caller's release. Who
  // looks on hears of it in the caller's context.

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
    this.over = true
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
    // What withLock takes belongs to its frame alone: siblings in the same context stay excluded.
    acquisition.keepIn(call.ofCallback ? null : (call.place?.context ?? null))
    return { kind: 'held', path: this.path, hold, acquisition, siblingMutex: null }
  }

  /** Whatever a late or unanswered try may have done in Redis is undone. */
  abandon<T = undefined>(result?: T): T {
    this.over = true
    giveBack(this.made, this.call)
    return result as T
  }

  /**
   * An attempt that is `done` with false: the context of the call came to hold the lock, so there is something to
   * re-enter.
   */
  standInLine(): Promise<T> {
    const { protocol, place } = this.call
    const ticket = this.session.waiter.enter<boolean, T>(this)
    const context = place?.context
    if (!context) {
      return ticket.outcome
    }
    const stopListening = context.onHeld(protocol.scope, () => ticket.leave())
    return ticket.outcome.finally(stopListening)
  }

  attempt(): Answer<Attempt<boolean>> {
    const { protocol, place } = this.call
    const context = place?.context
    return context ? context.inTurn(protocol.scope, async () => this.tryNow()) : this.tryNow()
  }

  onParked(ticket: Ticket<T>): void {
    this.call.parked(ticket)
  }

  onWoken(): void {
    this.call.publication?.woken(this.session.clock.now())
  }

  private tryNow(): Answer<Attempt<boolean>> {
    const { protocol, place } = this.call
    if (place && enclosing(place, protocol.scope)) {
      return Promise.resolve({ kind: 'done', value: false })
    }
    if (this.over) {
      return Promise.resolve({ kind: 'refused' })
    }
    this.call.publication?.trying()
    return this.acquisition.tryFirst(this.call, this)
  }

  /** What it is handed while it sleeps. Not wanted: it asks Redis. */
  accept(given: unknown): true | undefined {
    const offer = given as HandedOverHold | PushedGrant
    const { place, protocol } = this.call
    if (place && enclosing(place, protocol.scope)) {
      return undefined
    }
    if (!(offer.kind === 'passed' ? this.takeOver(offer) : this.takeGrant(offer))) {
      return undefined
    }
    this.path = offer.kind
    this.call.publication?.handedOver()
    return true
  }

  /** What another caller of this client passes on. Who wants more than that, a lease or a token, asks Redis. */
  private takeOver(passed: HandedOverHold): boolean {
    const { leaseMs, protocol } = this.call
    return protocol.handover !== null && leaseMs === undefined && this.acquisition.takeOver(passed, this.call)
  }

  /** What Redis gave it. Who wants it for less time than that asks Redis. */
  private takeGrant(grant: PushedGrant): boolean {
    const { leaseMs = Number.POSITIVE_INFINITY } = this.call
    return (
      leaseMs >= grant.ttlMs && this.owner === grant.owner && this.acquisition.takeGrant(grant, this.call)
    )
  }

  onReply(reply: AcquireReply): Attempt<boolean> {
    if (reply.kind === 'acquired') {
      this.call.publication?.succeeded(this.session.clock)
      const retryAfterMs = this.call.leaseMs ?? this.acquisition.ttlMs
      return { kind: 'done', value: true, retryAfterMs, takesAll: this.shared !== true }
    }
    this.call.publication?.refused()
    if (reply.kind !== 'held') {
      return { kind: 'refused' }
    }
    // Of a caller that has left nobody would forget it again, and names are made of ids in many services (I8).
    if (!this.over) {
      this.call.refused(reply)
    }
    this.refusals += 1
    const leaseMs = reply.ttlMs >= 0 ? reply.ttlMs : Number.POSITIVE_INFINITY
    const pauseMs = this.call.protocol.pauseAfter?.(this.refusals) ?? Number.POSITIVE_INFINITY
    return { kind: 'refused', retryAfterMs: Math.min(leaseMs, pauseMs, this.lifeAfter(reply)) }
  }

  /** Who stands in Redis to be given the lock tries again while it counts as alive: where the dead wait nobody is told. */
  private lifeAfter({ aliveUntil }: HeldReply): number {
    return aliveUntil === undefined ? Number.POSITIVE_INFINITY : this.session.plainQueue.aliveForMs / 2
  }

  onError(error: unknown): Attempt<boolean> {
    return unavailableOrThrow(error)
  }
}
