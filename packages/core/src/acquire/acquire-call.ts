import type { Place, WaitOutcome } from '@holdfast/waiter'
import { limitsOf, type AcquireOptions, type CallLimits } from './acquire-options.js'
import type { Acquisition } from './acquisition.js'
import type { LevelRequest } from './levels.js'
import type { UnscopedCalls, UnscopedHold } from './unscoped-calls.js'
import type { AcquireServices } from './services.js'
import { Context, type CallSite, type SiblingMutex } from '../context/context.js'
import type { CallPublication } from '../diagnostics/call-publication.js'
import type { SeenCall } from '../diagnostics/call-reports.js'
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

export interface Held {
  readonly kind: 'held'
  readonly hold: Hold
  readonly acquisition: Acquisition
  /** Released together with the hold: the mutex under which siblings re-enter. */
  readonly siblingMutex: SiblingMutex | null
}

/** Another owner holds the lock. */
export interface Busy {
  readonly kind: 'busy'
  readonly error: () => LockTimeoutError
}

/** A call for several locks, as one of its parts sees it. */
export interface WholeCall {
  /** A part whose caller has left is releasing the hold that it may have in Redis; the whole call may wait for that. */
  undoes(work: Promise<unknown>): void
  /** A part has to wait. */
  parked(): void
}

/** A caller's request, with the options as given. */
export interface AcquireRequest<H extends UnscopedHold = Hold> {
  /** undefined: none were given. */
  readonly options: AcquireOptions | undefined
  /** The wait if the options have none, ms; undefined: no limit. */
  readonly defaultWaitMs: number | undefined
  /** The call site; null outside any context, where every call is an owner of its own. */
  readonly site: CallSite | null
  /** The call comes from `withLock`. */
  readonly ofCallback: boolean
  /** The calls of this lock object outside contexts; null for a call inside one, and for `withLock`. */
  readonly unscoped: UnscopedCalls<H> | null
  /** The Redisson-style method that was called, whose caller has only the lock object to unlock; null: another. */
  readonly byHand: string | null
  /** Where the call was made, if that was recorded. */
  readonly calledFrom?: Error | null
  /** The call for several locks that this one is part of; that one is published instead. */
  readonly whole?: WholeCall
}

/** Makes the caller's result from what was obtained. */
export type Finish<T> = (obtained: Held | Busy) => T | Promise<T>

/** One call for a lock: its limits, counted from its start, and what is told of it. `obtain` is the way that it goes. */
export class AcquireCall<T = unknown> implements LevelRequest, ReportedWait {
  /** Null outside any context. */
  readonly site: CallSite | null
  readonly ofCallback: boolean
  /** The call for several locks that this one is part of. */
  readonly whole: WholeCall | undefined
  readonly calledFrom: Error | null
  readonly note: ReturnType<typeof noteWish> | undefined
  readonly startedAt: number
  /** The caller's own async context, and what is published. Null without subscribers. */
  readonly seen: SeenCall | null
  readonly publication: CallPublication | null
  readonly limits: CallLimits
  private readonly unscoped: UnscopedCalls | null
  private readonly owesUnlock: boolean
  /** Whether it has parked, and whether anybody hears of that and of its end. */
  private wait: 'none' | 'parked' | 'heard' = 'none'
  /** How often the lease expired before the reply arrived. */
  private expiredOnArrival = 0
  /** Position in the queue, as of Redis's last reply. */
  private placeInLine: number | undefined = undefined

  /** The call begins. @throws InvalidArgumentError, ContextRequiredError, ClientClosedError */
  constructor(
    private readonly session: AcquireServices,
    readonly protocol: LockProtocol,
    request: AcquireRequest,
    private readonly finish: Finish<T>,
  ) {
    const { options, defaultWaitMs, whole, unscoped, byHand, calledFrom = null } = request
    // The request to one of several locks was decided for all of them.
    const defaults = whole ? NO_DEFAULTS : session.options
    this.limits = limitsOf(options, defaultWaitMs, defaults, session.contexts)
    this.site = request.site
    this.ofCallback = request.ofCallback
    this.whole = whole
    this.calledFrom = calledFrom
    this.startedAt = session.runtime.now()
    const { leaseMs, renews } = this.limits
    const { describeHolds } = session.options
    this.note = describeHolds && noteWish(describeHolds, renews ? undefined : leaseMs)
    if (leaseMs !== undefined) {
      session.lastHolders.noteLease(leaseMs)
    }
    session.assertOpen(protocol.lockName)
    this.unscoped = unscoped
    this.owesUnlock = byHand !== null
    if (byHand !== null) {
      unscoped?.begin(byHand)
    }
    this.seen = session.reports.seen(protocol, this.startedAt, whole !== undefined)
    this.publication = this.seen?.publication ?? null
  }

  get isUnlimited(): boolean {
    return this.limits.isUnlimited && !this.whole
  }

  /** Time left to wait, ms. 0 stays 0, exactly one attempt; a wait that has begun never becomes 0. */
  get timeoutMs(): number {
    const { waitMs } = this.limits
    return waitMs ? Math.max(1, waitMs - this.waitedMs) : (waitMs ?? Number.POSITIVE_INFINITY)
  }

  get lockName(): string {
    return this.protocol.lockName
  }

  /** Time since the call began, ms. */
  get waitedMs(): number {
    return this.session.runtime.now() - this.startedAt
  }

  /**
   * The context that owns an acquisition of this call. Outside any context the callback of a `withLock` gets a new
   * one, so that calls inside it re-enter.
   */
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

  /** The lease expired before the reply arrived. @throws LockLostError once too often */
  tooLate(): void {
    this.expiredOnArrival += 1
    if (this.expiredOnArrival === MAX_EXPIRED_ON_ARRIVAL) {
      const { lockName, session } = this
      throw new LockLostError({ lockName, owner: session.clientId, reason: 'expired' })
    }
  }

  /** The call has a result. */
  settled(obtained: Held | Busy): T | Promise<T> {
    this.end(obtained.kind === 'held' ? obtained.hold : null)
    if (this.publication) {
      this.publishSettled(this.publication, obtained)
    }
    this.forgetHolder()
    if (this.calledFrom && !this.ofCallback && obtained.kind === 'held') {
      this.session.reports.origins.keep(obtained.hold, this.calledFrom)
    }
    return this.finish(obtained)
  }

  /** The call failed for a reason other than another holder. */
  failed(error: unknown): never {
    this.end(null)
    this.publication?.failed(error, this.limits.signal, this.session.runtime.now())
    this.forgetHolder()
    throw error
  }

  /** The call has to wait. */
  parked(place: Place<unknown>): void {
    const { reports } = this.session
    if (this.wait === 'none') {
      this.whole?.parked()
      const isHeard = reports.parked(this, place)
      const isUnscoped = !this.site && !this.whole && this.limits.waitMs === undefined
      this.wait = (isUnscoped && reports.mayWaitForItself(this)) || isHeard ? 'heard' : 'parked'
    }
    this.publication?.parked(reports.holderOf(this.protocol.key))
  }

  /** Another owner holds the lock, or is ahead in the queue. */
  refused(reply: HeldReply): void {
    this.placeInLine = reply.place
    this.session.reports.refused(this.protocol.key, reply)
  }

  /** The wait ended without success. @throws RedisUnavailableError whether another owner holds the lock is unknown */
  giveUp(outcome: WaitOutcome<unknown>): Busy {
    const { lockName, waitedMs } = this
    if (outcome.kind === 'unavailable') {
      // A single attempt reports by itself how long it took.
      throw this.limits.waitMs === 0
        ? outcome.error
        : unansweredWait(this.session.runner.plight, { lockName, waitedMs }, outcome.error)
    }
    const known = this.explain()
    return { kind: 'busy', error: () => new LockTimeoutError({ lockName, waitedMs, ...known }) }
  }

  /** Undoes what a late or unanswered command of the call may have done in Redis. */
  undo(acquisition: Acquisition | null): void {
    const work = acquisition?.undo()
    if (work) {
      this.whole?.undoes(work)
    }
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
    this.unscoped?.end(hold, this.owesUnlock)
  }

  private publishSettled(publication: CallPublication, obtained: Held | Busy): void {
    const { session, protocol } = this
    const { runtime, reports } = session
    if (obtained.kind === 'busy') {
      publication.timedOut(reports.holderOf(protocol.key), runtime.now())
      return
    }
    const { path = 'remote' } = publication
    const holder = publication.hasWaited ? reports.holderOf(protocol.key) : undefined
    // A command of this call got its reply in this turn, so its time still holds.
    const publishedAt = path === 'remote' ? obtained.acquisition.publishedAt : undefined
    publication.acquired(path, holder, publishedAt ?? runtime.now())
  }

  /** Many services put ids into lock names: nothing is kept of a lock without waiters (I8). */
  private forgetHolder(): void {
    const { session, protocol } = this
    if (session.lastHolders.byKey.has(protocol.key) && !protocol.isAwaited) {
      session.lastHolders.byKey.delete(protocol.key)
    }
  }
}
