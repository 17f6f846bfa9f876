import { AsyncResource } from 'node:async_hooks'
import type { Attempt, Ticket, WaitOutcome, WaitRequest } from '@holdfast/waiter'
import type { UnscopedCall, UnscopedCalls } from './unscoped-calls.js'
import type { Acquisition, WholeCall } from './acquisition.js'
import type { LevelRequest } from './levels.js'
import { Context, type CallSite, type SiblingMutex } from '../context.js'
import { isCallSeen, publishCall, type CallPublication } from '../diagnostics/call-publication.js'
import { isHoldSeen } from '../diagnostics/hold-publication.js'
import type { AcquisitionPath } from '../diagnostics/messages.js'
import { LockTimeoutError } from '../errors.js'
import type { Hold } from '../hold.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkLevelLease } from './lease-argument.js'
import type { LockProtocol } from '../protocols/lock-protocol.js'
import { unansweredWait } from '../redis/failures.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import { isWorthRetrying } from '../redis/until-known.js'
import { noteWish } from '../entry/hold-note.js'
import type { HeldReply, NoteRequest } from '../scripts/lock.js'
import type { Session } from '../client/session.js'
import { checkDuration, checkOptions, checkSignal } from '../arguments/validate.js'
import type { ReportedWait, WaitFacts } from '../diagnostics/wait-reporter.js'

// A wait shorter than a slow round trip should still end with a yes or a no.
export const ANSWER_MS = 250

/** All durations in milliseconds. */
export interface AcquireOptions {
  /** How long to wait. Left out: for ever (`tryAcquire`: one attempt). 0: one attempt. */
  waitMs?: number | undefined
  /** Redis gives the lock back after this long, whatever happens. Left out: the watchdog renews. */
  leaseMs?: number | undefined
  /** Ends the wait; the call rejects with its reason. */
  signal?: AbortSignal | undefined
}

const ACQUIRE_OPTIONS: KnownKeys<AcquireOptions> = { waitMs: true, leaseMs: true, signal: true }

/** What is in them is checked by the call. @throws InvalidArgumentError */
export function checkAcquireOptions(options: AcquireOptions): void {
  checkOptions('options', options, ACQUIRE_OPTIONS)
}

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

export interface Held {
  readonly kind: 'held'
  readonly path: AcquisitionPath
  readonly hold: Hold
  readonly acquisition: Acquisition
  /** To be ended with the hold: the siblings' turn to re-enter. */
  readonly siblingMutex: SiblingMutex | null
}

/** Somebody else has it. */
export interface Busy {
  readonly kind: 'busy'
  readonly error: () => LockTimeoutError
}

/** Nothing yet: `look-again` at what encloses the call, or the lease was over before anybody could use it. */
export type NotYet = 'look-again' | 'expired-on-arrival'

/** What is used of an `AsyncResource`, whose type a user of this package need not have. */
interface AsyncContext {
  runInAsyncScope<R>(run: () => R): R
}

interface Limits {
  readonly waitMs: number | undefined
  readonly leaseMs: number | undefined
  readonly signal: AbortSignal | undefined
}

/** Of most calls. */
const NO_LIMITS: Limits = { waitMs: undefined, leaseMs: undefined, signal: undefined }

function limitsOf(
  waitMs: number | undefined,
  leaseMs: number | undefined,
  signal: AbortSignal | undefined,
): Limits {
  const hasNone = waitMs === undefined && leaseMs === undefined && !signal
  return hasNone ? NO_LIMITS : { waitMs, leaseMs, signal }
}

/** What a caller makes of what it obtained. */
export type Finish<T> = (obtained: Held | Busy) => T | Promise<T>

/** One call for a lock, whatever it takes to answer it: its limits, counted from its beginning. */
export class AcquireCall<T = unknown> implements LevelRequest, ReportedWait {
  readonly place: CallSite | null
  readonly ofCallback: boolean
  readonly whole: WholeCall | undefined
  readonly note: NoteRequest | undefined
  readonly startedAt: number
  bareCall: UnscopedCall | null = null
  /** Null: nobody looks on. */
  publication: CallPublication | null = null
  /** The caller's own context, for those who look on: exporters ask what span is active. Null: nobody does. */
  readonly observer: AsyncContext | null
  private readonly limits: Limits
  private hasParked = false
  /** How often the lease was over before anybody could use it. */
  expiredOnArrival = 0
  /** The latest that Redis said of its place in line. */
  private placeInLine: number | undefined = undefined

  /** @throws InvalidArgumentError */
  constructor(
    readonly protocol: LockProtocol,
    request: AcquireRequest,
    readonly finish: Finish<T>,
    private readonly session: Pick<
      Session,
      'clientId' | 'clock' | 'contexts' | 'lastHolders' | 'options' | 'waitReporter' | 'nextThreadId'
    > & { readonly runner: Pick<ScriptRunner, 'plight'> },
  ) {
    const { options, defaultWaitMs, place, ofCallback } = request
    checkAcquireOptions(options)
    const { waitMs = defaultWaitMs, leaseMs, signal } = options
    checkDuration('waitMs', waitMs, 'zero')
    checkLevelLease(leaseMs)
    checkSignal(signal)
    this.place = place
    this.whole = request.whole
    this.limits = limitsOf(waitMs, leaseMs, session.contexts.signalBeside(signal))
    this.ofCallback = ofCallback
    this.startedAt = session.clock.now()
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

  get lockName(): string {
    return this.protocol.lockName
  }

  /**
   * The context that an acquisition for it belongs to. Outside any the callback of a `withLock` gets one of its own, so
   * that what is called from inside it re-enters.
   */
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

  /** Whoever looks on now sees it. */
  begin(): void {
    this.publication = publishCall(this.session, this.protocol, this.startedAt)
  }

  /** It has to wait. */
  parked(ticket: Ticket<unknown>): void {
    if (!this.hasParked) {
      this.hasParked = true
      this.session.waitReporter.parked(this, ticket)
    }
    this.publication?.parked(this.session.lastHolders.holderOf(this.protocol.key))
    this.bareCall?.parked()
  }

  /** How long it still waits, ms. 0 stays 0, exactly one attempt; a wait that has begun does not become one. */
  get timeoutMs(): number {
    const { waitMs } = this
    return waitMs
      ? Math.max(1, waitMs - (this.session.clock.now() - this.startedAt))
      : (waitMs ?? Number.POSITIVE_INFINITY)
  }

  /** The limits of a wait, written into its request. */
  limit<T>(wait: WaitRequest<T>): WaitRequest<T> {
    wait.timeoutMs = this.timeoutMs
    wait.answerMs = ANSWER_MS
    wait.signal = this.signal
    return wait
  }

  /** The wait ended without a yes: somebody else has it, or nobody can tell. */
  giveUp(outcome: WaitOutcome<unknown>): Busy {
    const { lockName } = this
    const waitedMs = this.session.clock.now() - this.startedAt
    if (outcome.kind === 'unavailable') {
      // One attempt says itself how long it was tried.
      throw this.waitMs === 0
        ? outcome.error
        : unansweredWait(this.session.runner.plight, { lockName, waitedMs }, outcome.error)
    }
    const known = this.explain()
    return { kind: 'busy', error: () => new LockTimeoutError({ lockName, waitedMs, ...known }) }
  }

  /** Somebody else has the lock, or comes first. */
  refused(reply: HeldReply): void {
    this.placeInLine = reply.place
    this.session.lastHolders.note(this.protocol.key, reply)
  }
}

/** An attempt that failed: no answer yet, or an error of its caller's. */
export function unavailableOrThrow(error: unknown): Attempt<never> {
  if (isWorthRetrying(error)) {
    return { kind: 'unavailable', error }
  }
  throw error
}
