import { AsyncResource } from 'node:async_hooks'
import type { Ticket, WaitOutcome } from '@holdfast/waiter'
import { limitsOf, type AcquireOptions, type CallLimits } from './acquire-options.js'
import type { AsyncContext, Busy, CallInProgress, Held, NotYet, WholeCall } from './call-in-progress.js'
import { Contention } from './contention.js'
import { enclosingAcquisition, Reentry, type EnclosingAcquisition } from './reentry.js'
import type { UnscopedCall, UnscopedCalls } from './unscoped-calls.js'
import type { Session } from '../client/session.js'
import { Context, type CallSite } from '../context.js'
import { isCallSeen, publishCall, type CallPublication } from '../diagnostics/call-publication.js'
import { isHoldSeen } from '../diagnostics/hold-publication.js'
import type { ReportedWait, WaitFacts } from '../diagnostics/wait-reporter.js'
import { noteWish } from '../entry/hold-note.js'
import { LockLostError, LockTimeoutError } from '../errors.js'
import type { Hold } from '../hold.js'
import type { LockProtocol } from '../protocols/lock-protocol.js'
import { unansweredWait } from '../redis/failures.js'
import type { HeldReply, NoteRequest } from '../scripts/lock.js'

// A lease can be used up before its holder hears of it; this often in a row it is too short for this connection.
export const MAX_EXPIRED_ON_ARRIVAL = 3

/** What a caller asks for, as it was given. */
export interface AcquireRequest {
  readonly options: AcquireOptions
  /** How long to wait where the options do not say, ms; undefined: for ever. */
  readonly defaultWaitMs: number | undefined
  /** Where the call stands; null outside any context, where every call is an owner of its own. */
  readonly place: CallSite | null
  /** Taken by `withLock`. */
  readonly ofCallback: boolean
  /** Redisson's face outside any context: the callers of this lock object, and the method that was called. */
  readonly bare: { readonly calls: UnscopedCalls; readonly method: string } | null
  /** The call for several locks that it is a part of, which is seen instead of it. */
  readonly whole?: WholeCall
}

/** What a caller makes of what it obtained. */
export type Finish<T> = (obtained: Held | Busy) => T | Promise<T>

/**
 * The one way to a hold, for every kind of lock.
 * @returns what `finish` makes of it: a parameter, because every promise more costs each call
 * @throws InvalidArgumentError, ContextRequiredError, LockLostError, SelfDeadlockError, RedisUnavailableError,
 *   WrongTypeError, ClientClosedError, or the reason of the signal
 */
export function obtain<T>(
  session: Session,
  protocol: LockProtocol,
  request: AcquireRequest,
  finish: Finish<T>,
): Promise<T> {
  try {
    return new AcquireCall(session, protocol, request, finish).begin(request)
  } catch (error) {
    return Promise.reject<T>(error)
  }
}

/**
 * One call for a lock, whatever it takes to answer it: its limits, counted from its beginning. It re-enters what encloses
 * it (`Reentry`), or contends for the lock (`Contention`), as often as that comes to nothing.
 */
export class AcquireCall<T = unknown> implements CallInProgress<T>, ReportedWait {
  readonly place: CallSite | null
  readonly ofCallback: boolean
  readonly whole: WholeCall | undefined
  readonly note: NoteRequest | undefined
  readonly startedAt: number
  readonly observer: AsyncContext | null
  publication: CallPublication | null = null
  private readonly limits: CallLimits
  private bareCall: UnscopedCall | null = null
  private hasParked = false
  /** How often the lease was over before anybody could use it. */
  private expiredOnArrival = 0
  /** The latest that Redis said of its place in line. */
  private placeInLine: number | undefined = undefined

  /** @throws InvalidArgumentError */
  constructor(
    private readonly session: Session,
    readonly protocol: LockProtocol,
    request: AcquireRequest,
    private readonly finish: Finish<T>,
  ) {
    this.limits = limitsOf(request.options, request.defaultWaitMs, session.contexts)
    this.place = request.place
    this.ofCallback = request.ofCallback
    this.whole = request.whole
    this.startedAt = session.clock.now()
    const { leaseMs } = this.limits
    this.note = noteWish(session.options, leaseMs)
    if (leaseMs !== undefined) {
      session.lastHolders.noteLease(leaseMs)
    }
    this.observer = isCallSeen() || isHoldSeen() ? new AsyncResource('HoldfastCall') : null
  }

  /** undefined: for ever; 0: one attempt. */
  get waitMs(): number | undefined {
    return this.limits.waitMs
  }

  get leaseMs(): number | undefined {
    return this.limits.leaseMs
  }

  get signal(): AbortSignal | undefined {
    return this.limits.signal
  }

  get timeoutMs(): number {
    const { waitMs } = this
    return waitMs ? Math.max(1, waitMs - this.waitedMs) : (waitMs ?? Number.POSITIVE_INFINITY)
  }

  get lockName(): string {
    return this.protocol.lockName
  }

  private get waitedMs(): number {
    return this.session.clock.now() - this.startedAt
  }

  contextToHold(): Context | null {
    if (this.place || !this.ofCallback) {
      return this.place?.context ?? null
    }
    return new Context(this.session.nextThreadId(), null)
  }

  /** Who has the lock, and where this call stands, as far as anybody told. */
  explain(): WaitFacts {
    return { holder: this.session.lastHolders.holderOf(this.protocol.key), placeInLine: this.placeInLine }
  }

  /** Once. @throws ContextRequiredError, ClientClosedError */
  begin({ bare, whole }: AcquireRequest): Promise<T> {
    const { session, protocol } = this
    session.assertOpen(protocol.lockName)
    this.bareCall = bare && bare.calls.begin(bare.method)
    if (!whole) {
      this.publication = publishCall(session, protocol, this.startedAt)
    }
    return this.look()
  }

  private look(): Promise<T> {
    const { place, protocol, session } = this
    try {
      const outer = place ? enclosingAcquisition(place, protocol.scope) : undefined
      return outer ? this.reenter(outer) : new Contention(session, this).standInLine()
    } catch (error) {
      return this.failed(error)
    }
  }

  private reenter(outer: EnclosingAcquisition): Promise<T> {
    return new Reentry(this.session, this).into(outer).then(
      (obtained) => this.settled(obtained),
      (error: unknown) => this.failed(error),
    )
  }

  settled(obtained: Held | Busy | NotYet): T | Promise<T> {
    if (typeof obtained === 'string') {
      this.expiredOnArrival += obtained === 'expired-on-arrival' ? 1 : 0
      if (this.expiredOnArrival < MAX_EXPIRED_ON_ARRIVAL) {
        return this.look()
      }
      const { lockName, session } = this
      return this.failed(new LockLostError({ lockName, owner: session.clientId, reason: 'expired' }))
    }
    this.end(obtained.kind === 'held' ? obtained.hold : null)
    this.publishSettled(obtained)
    this.forgetHolder()
    return this.finish(obtained)
  }

  failed(error: unknown): never {
    this.end(null)
    this.publication?.failed(error, this.signal, this.session.clock.now())
    this.forgetHolder()
    throw error
  }

  parked(ticket: Ticket<unknown>): void {
    if (!this.hasParked) {
      this.hasParked = true
      this.session.waitReporter.parked(this, ticket)
    }
    this.publication?.parked(this.session.lastHolders.holderOf(this.protocol.key))
    this.bareCall?.parked()
  }

  refused(reply: HeldReply): void {
    this.placeInLine = reply.place
    this.session.lastHolders.note(this.protocol.key, reply)
  }

  giveUp(outcome: WaitOutcome<unknown>): Busy {
    const { lockName, waitedMs } = this
    if (outcome.kind === 'unavailable') {
      // One attempt says itself how long it was tried.
      throw this.waitMs === 0
        ? outcome.error
        : unansweredWait(this.session.runner.plight, { lockName, waitedMs }, outcome.error)
    }
    const known = this.explain()
    return { kind: 'busy', error: () => new LockTimeoutError({ lockName, waitedMs, ...known }) }
  }

  /** Whatever came of the call, before anybody hears of it. */
  private end(hold: Hold | null): void {
    const { watchdog, waitReporter } = this.session
    if (!hold) {
      // I3: what ended a wait may be a timer or a signal, after a pause in which the trust in other holds ran out.
      watchdog.endOverdueTrust()
    }
    waitReporter.ended(this)
    this.bareCall?.end(hold)
  }

  private publishSettled(obtained: Held | Busy): void {
    const { publication, session, protocol } = this
    if (!publication) {
      return
    }
    const { clock, lastHolders } = session
    if (obtained.kind === 'busy') {
      publication.timedOut(lastHolders.holderOf(protocol.key), clock.now())
      return
    }
    const { path, acquisition } = obtained
    const holder = publication.hasWaited ? lastHolders.holderOf(protocol.key) : undefined
    // What a command of the call brought was dated in this turn.
    const publishedAt = path === 'remote' ? acquisition.publishedAt : undefined
    publication.acquired(path, holder, publishedAt ?? clock.now())
  }

  /** Names are made of ids in many services: of a lock that nobody waits for nothing is kept (I8). */
  private forgetHolder(): void {
    const { isAwaited, key } = this.protocol
    if (!isAwaited) {
      this.session.lastHolders.forget(key)
    }
  }
}
