import { AsyncResource } from 'node:async_hooks'
import type { Place, WaitOutcome } from '@holdfast/waiter'
import { limitsOf, type AcquireOptions, type CallLimits } from './acquire-options.js'
import type { AsyncContext, Busy, CallInProgress, Held, NotYet, WholeCall } from './call-in-progress.js'
import { Contention } from './contention.js'
import { enclosingAcquisition, Reentry, type EnclosingAcquisition } from './reentry.js'
import type { UnscopedCalls, UnscopedHold } from './unscoped-calls.js'
import type { AcquireServices } from './services.js'
import { Context, type CallSite } from '../context/context.js'
import type { CallPublication } from '../diagnostics/call-publication.js'
import type { ReportedWait, WaitFacts } from '../diagnostics/wait-reporter.js'
import { noteWish } from '../diagnostics/hold-note.js'
import { LockLostError, LockTimeoutError } from '../errors.js'
import type { Hold } from '../hold.js'
import type { LockProtocol } from '../kinds/lock-protocol.js'
import { unansweredWait } from '../redis/failures.js'
import type { HeldReply } from '../scripts/acquire-reply.js'

// A lease may expire before the reply arrives; after this many times in a row it is too short for the connection.
export const MAX_EXPIRED_ON_ARRIVAL = 3

const NO_DEFAULTS = { leaseMs: undefined, maxWaiting: undefined }

/** A caller's request, with the options as given. */
export interface AcquireRequest<H extends UnscopedHold = Hold> {
  readonly options: AcquireOptions
  /** The wait if the options have none, ms; undefined: no limit. */
  readonly defaultWaitMs: number | undefined
  /** The call site; null outside any context, where every call is an owner of its own. */
  readonly site: CallSite | null
  /** The call comes from `withLock`. */
  readonly ofCallback: boolean
  /** For Redisson-style calls outside any context: the calls of this lock object, and the method that was called. */
  readonly bare: { readonly calls: UnscopedCalls<H>; readonly method: string } | null
  /** Where the call was made, if that was recorded. */
  readonly calledFrom?: Error | null
  /** The call for several locks that this one is part of; that one is published instead. */
  readonly whole?: WholeCall
}

/** Makes the caller's result from what was obtained. */
export type Finish<T> = (obtained: Held | Busy) => T | Promise<T>

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
    return new AcquireCall(session, protocol, request, finish).begin(request)
  } catch (error) {
    return Promise.reject<T>(error)
  }
}

/**
 * One call for a lock: its limits, counted from its start. It re-enters an enclosing hold (`Reentry`) or contends for
 * the lock (`Contention`), repeatedly if either ends without a result.
 */
export class AcquireCall<T = unknown> implements CallInProgress<T>, ReportedWait {
  readonly site: CallSite | null
  readonly ofCallback: boolean
  readonly whole: WholeCall | undefined
  readonly note: ReturnType<typeof noteWish> | undefined
  readonly startedAt: number
  readonly observer: AsyncContext | null
  publication: CallPublication | null = null
  private readonly limits: CallLimits
  private bareCall: UnscopedCalls | null = null
  /** Whether it has parked, and whether anybody hears of that and of its end. */
  private wait: 'none' | 'parked' | 'heard' = 'none'
  /** How often the lease expired before the reply arrived. */
  private expiredOnArrival = 0
  /** Position in the queue, as of Redis's last reply. */
  private placeInLine: number | undefined = undefined

  /** @throws InvalidArgumentError */
  constructor(
    private readonly session: AcquireServices,
    readonly protocol: LockProtocol,
    request: AcquireRequest,
    private readonly finish: Finish<T>,
  ) {
    const { options, defaultWaitMs } = request
    // The request to one of several locks was decided for all of them.
    const defaults = request.whole ? NO_DEFAULTS : session.options
    this.limits = limitsOf(options, defaultWaitMs, defaults, session.contexts)
    this.site = request.site
    this.ofCallback = request.ofCallback
    this.whole = request.whole
    this.startedAt = session.runtime.now()
    const { leaseMs } = this.limits
    const { describeHolds } = session.options
    this.note = describeHolds && noteWish(describeHolds, this.limits.renews ? undefined : leaseMs)
    if (leaseMs !== undefined) {
      session.lastHolders.noteLease(leaseMs)
    }
    this.observer = session.reports.areSeen ? new AsyncResource('HoldfastCall') : null
  }

  /** undefined: no limit; 0: one attempt. */
  get waitMs(): number | undefined {
    return this.limits.waitMs
  }

  get leaseMs(): number | undefined {
    return this.limits.leaseMs
  }

  get maxWaiting(): number | undefined {
    return this.limits.maxWaiting
  }

  get isUnlimited(): boolean {
    return this.limits.isUnlimited && !this.whole
  }

  get renews(): boolean {
    return this.limits.renews
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

  get waitedMs(): number {
    return this.session.runtime.now() - this.startedAt
  }

  contextToHold(): Context | null {
    if (this.site || !this.ofCallback) {
      return this.site?.context ?? null
    }
    return new Context(this.session.nextThreadId(), null)
  }

  /** The holder and the queue position, as far as known. */
  explain(): WaitFacts {
    return { holder: this.session.reports.holderOf(this.protocol.key), placeInLine: this.placeInLine }
  }

  /** Called once. @throws ContextRequiredError, ClientClosedError */
  begin({ bare, calledFrom = null, whole }: AcquireRequest): Promise<T> {
    const { session, protocol } = this
    session.assertOpen(protocol.lockName)
    if (calledFrom) {
      session.reports.origins.keep(this, calledFrom)
    }
    this.bareCall = bare && bare.calls.begin(bare.method)
    if (!whole) {
      this.publication = session.reports.begun(protocol, this.startedAt)
    }
    return this.look()
  }

  private look(): Promise<T> {
    const { site, protocol, session } = this
    try {
      const outer = site ? enclosingAcquisition(site, protocol.scope) : undefined
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
    this.publication?.failed(error, this.signal, this.session.runtime.now())
    this.forgetHolder()
    throw error
  }

  parked(place: Place<unknown>): void {
    const { reports } = this.session
    if (this.wait === 'none') {
      this.whole?.parked()
      const isHeard = reports.parked(this, place)
      const isUnscoped = !this.site && !this.whole && this.waitMs === undefined
      this.wait = (isUnscoped && reports.mayWaitForItself(this)) || isHeard ? 'heard' : 'parked'
    }
    this.publication?.parked(reports.holderOf(this.protocol.key))
  }

  refused(reply: HeldReply): void {
    this.placeInLine = reply.place
    this.session.reports.refused(this.protocol.key, reply)
  }

  giveUp(outcome: WaitOutcome<unknown>): Busy {
    const { lockName, waitedMs } = this
    if (outcome.kind === 'unavailable') {
      // A single attempt reports by itself how long it took.
      throw this.waitMs === 0
        ? outcome.error
        : unansweredWait(this.session.runner.plight, { lockName, waitedMs }, outcome.error)
    }
    const known = this.explain()
    return { kind: 'busy', error: () => new LockTimeoutError({ lockName, waitedMs, ...known }) }
  }

  /** Runs whatever the outcome, before the caller is resumed. */
  private end(hold: Hold | null): void {
    const { watchdog, reports } = this.session
    if (!hold) {
      // I3: the wait may have been ended by a timer or a signal after a pause in which trust in other holds ran out.
      watchdog.endOverdueTrust()
    }
    if (this.wait === 'heard') {
      reports.ended(this)
    }
    this.bareCall?.end(hold)
  }

  private publishSettled(obtained: Held | Busy): void {
    const { publication, session, protocol } = this
    if (!publication) {
      return
    }
    const { runtime, reports } = session
    if (obtained.kind === 'busy') {
      publication.timedOut(reports.holderOf(protocol.key), runtime.now())
      return
    }
    const { path, acquisition } = obtained
    const holder = publication.hasWaited ? reports.holderOf(protocol.key) : undefined
    // A command of this call got its reply in this turn, so its time still holds.
    const publishedAt = path === 'remote' ? acquisition.publishedAt : undefined
    publication.acquired(path, holder, publishedAt ?? runtime.now())
  }

  private forgetHolder(): void {
    const { isAwaited, key } = this.protocol
    if (!isAwaited) {
      this.session.reports.forgetHolder(key)
    }
  }
}
