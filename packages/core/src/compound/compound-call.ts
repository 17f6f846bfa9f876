import type { WaitingCallers } from '@holdfast/waiter'
import type { AcquireRequest } from '../acquire/acquire-call.js'
import { ANSWER_MS, limitsOf, type AcquireOptions, type CallLimits } from '../acquire/acquire-options.js'
import { tooMany } from '../acquire/line-bound.js'
import type { CallSite } from '../context/context.js'
import type { CallPublication, RequestedHold } from '../diagnostics/call-publication.js'
import type { AcquisitionPath } from '../diagnostics/messages.js'
import { LockBusyError, LockTimeoutError, type TimeoutDetails } from '../errors.js'
import { settleWithin } from '../runtime/settle-within.js'
import { unansweredWait } from '../redis/failures.js'
import { isWorthRetrying, pause } from '../redis/until-known.js'
import type { LockServices } from '../locks/services.js'
import { silenceOf } from './compound-rule.js'
import { undoLateHold, together, type MemberAnswer, type Member, type MemberHold } from './member.js'
import { TimeLimit } from './time-limit.js'
import { untilEnded } from './until-ended.js'

// Rounds that chance alone may take. After them, callers in lockstep could refuse each other again and again.
const ROUNDS_WITHOUT_PAUSE = 3
const FIRST_PAUSE_MS = 2
const LONGEST_PAUSE_MS = 100
// Who holds a part while it asks for the rest holds it for a whole try: shorter pauses leave everybody in step.
const LONGEST_PAUSE_IN_TRIES = 8
const LONGEST_PAUSE_OF_ALL_MS = 2_000

/** A caller's request for a compound lock. */
export interface CompoundRequest extends Omit<AcquireRequest, 'unscoped' | 'byHand' | 'whole'> {
  readonly name: string
  /** Outside contexts, or a `withLock` that opens one of its own. */
  readonly isUnscoped?: boolean
}

/**
 * One call for a compound lock: its limits, counted from its start, and the calls for members that it consists of.
 */
export class CompoundCall {
  /** undefined: no limit; 0: one attempt. */
  readonly waitMs: number | undefined
  readonly signal: AbortSignal | undefined
  readonly limits: CallLimits
  readonly origin: CallSite | null
  readonly ofCallback: boolean
  /** Null without subscribers. */
  publication: CallPublication | null = null
  readonly startedAt: number
  hasWaited = false
  private hasBeenAdmitted = false
  /** How long the latest try of all members took, ms. */
  private tryMs = 0
  /** Levels that may still exist in Redis and are being released, by their release. */
  private readonly debts = new Map<Promise<unknown>, Member>()
  /** Members that have not replied: their release may take as long as their silence. */
  private readonly silent = new Set<Member>()

  /** @throws InvalidArgumentError */
  constructor(
    readonly session: LockServices,
    private readonly request: CompoundRequest,
  ) {
    const { options, defaultWaitMs, site, ofCallback } = request
    this.limits = limitsOf(options, defaultWaitMs, session.options, session.contexts)
    this.waitMs = this.limits.waitMs
    this.signal = this.limits.signal
    this.origin = site
    this.ofCallback = ofCallback
    this.startedAt = session.runtime.now()
  }

  /** Runs the acquisition and publishes it as one call, instead of the calls for members. */
  seenAs(
    wanted: RequestedHold,
    take: () => Promise<MemberHold[] | LockTimeoutError>,
  ): Promise<MemberHold[] | LockTimeoutError> {
    const publication = this.session.reports.begun(wanted, this.startedAt)
    if (!publication) {
      return take()
    }
    this.publication = publication
    return this.publishEnd(publication, take())
  }

  get lockName(): string {
    return this.request.name
  }

  get waitedMs(): number {
    return this.session.runtime.now() - this.startedAt
  }

  /** Time left of the wait, ms. */
  get leftMs(): number {
    return this.waitMs === undefined ? Infinity : this.waitMs - this.waitedMs
  }

  /** Whether no time is left for another try. */
  get isOver(): boolean {
    return this.leftMs <= 0
  }

  /** Whether the signal or `close` ended the call. */
  get hasEnded(): boolean {
    return this.signal?.aborted === true || this.session.closing.aborted
  }

  /** @throws the reason of the signal; ClientClosedError, also while clients of members are still open */
  throwIfEnded(): void {
    this.signal?.throwIfAborted()
    this.session.assertOpen(this.lockName)
  }

  /**
   * Tries each member once, in this turn: tries on one Redis are sent as one script.
   * @param limitMs after which a member without a reply counts as failed; a later grant is released. Default:
   *   the end of the wait, with time for a reply
   */
  async tryAll(members: readonly Member[], limitMs = this.patienceMs): Promise<MemberAnswer[]> {
    const { runtime } = this.session
    const askedAt = runtime.now()
    const answers = await Promise.all(this.askEach(members, limitMs))
    this.tryMs = runtime.now() - askedAt
    return answers
  }

  /** Like `tryAll`, with a separate reply per member. */
  askEach(members: readonly Member[], limitMs: number): Promise<MemberAnswer>[] {
    const limit = limitMs === Infinity ? null : new TimeLimit(this.session.runtime, limitMs, this.signal)
    const signal = limit?.signal ?? this.signal
    const take = (member: Member): Promise<MemberAnswer> =>
      this.ask(member, { waitMs: 0, signal }).then((answer) =>
        limit?.isUp === true && answer.kind === 'failed' ? this.unanswered(member, limitMs) : answer,
      )
    const asked = together(members, () => members.map(take))
    if (limit) {
      void Promise.all(asked).then(() => limit.end())
    }
    return asked
  }

  /** Waits for one member, holding nothing, for at most `limitMs`. @throws LockBusyError it would begin to wait */
  async waitFor(member: Member, limitMs = Infinity): Promise<MemberAnswer> {
    // Only the first wait may be refused: whoever has waited goes on.
    const maxWaiting = this.hasBeenAdmitted ? undefined : this.limits.maxWaiting
    const left = Math.min(this.leftMs, limitMs)
    const waitMs = left === Infinity ? undefined : Math.max(1, left)
    const asked = untilEnded(this, (signal) => this.ask(member, { waitMs, signal, maxWaiting }))
    const isWatched = this.request.isUnscoped === true && waitMs === undefined
    const answer = await (isWatched ? this.watched(member, asked) : asked)
    if (answer.kind === 'failed' && answer.error instanceof LockBusyError) {
      throw answer.error
    }
    this.hasBeenAdmitted = true
    return answer
  }

  /** It may wait from now on, whoever waits besides. @throws LockBusyError so many wait already */
  admit(line: WaitingCallers): void {
    const { maxWaiting = Infinity } = this.limits
    if (line.waiting >= maxWaiting) {
      throw tooMany(this, line, maxWaiting, this.session.runtime.now())
    }
    this.hasBeenAdmitted = true
  }

  /** Releases levels that the caller will not get. */
  undo(levels: readonly MemberHold[]): void {
    undoLateHold(levels, (work, member) => this.owes(work, member))
  }

  /**
   * Resolves when all of them are released: a caller whose attempt failed may end its process at once, and a release
   * not sent by then would block the lock for a whole lease. Silent members are not waited for, nor others without
   * limit: their release continues in the background.
   * @param limitMs time for the members to reply. Default: as for any reply
   */
  async whenUndone(limitMs = Infinity): Promise<void> {
    if (this.owed.length > 0) {
      const { runtime, options } = this.session
      await settleWithin(
        this.untilNothingOwed(),
        Math.min(limitMs, this.graceMs, options.commandTimeout),
        runtime,
      )
    }
  }

  /** The call has to wait. */
  parked(): void {
    if (!this.hasWaited) {
      this.hasWaited = true
      this.publication?.parked(undefined)
    }
  }

  /**
   * Pauses, holding nothing, from the fourth round on: growing, with full jitter (AWS Architecture Blog, "Exponential
   * Backoff And Jitter").
   */
  async breakLockstep(round: number): Promise<void> {
    if (round > ROUNDS_WITHOUT_PAUSE) {
      const { tryMs } = this
      const grown = Math.max(FIRST_PAUSE_MS, tryMs) * 2 ** (round - ROUNDS_WITHOUT_PAUSE)
      const ofRounds = Math.min(LONGEST_PAUSE_IN_TRIES * tryMs, LONGEST_PAUSE_OF_ALL_MS)
      const longest = Math.max(0, Math.min(Math.max(LONGEST_PAUSE_MS, ofRounds), grown, this.leftMs))
      await this.pause(this.session.runtime.random() * longest)
    }
  }

  /** Pauses for a random part of as many tries. */
  async pauseBetweenTries(tries: number): Promise<void> {
    const longest = Math.max(0, Math.min(tries * this.tryMs, this.leftMs))
    await this.pause(this.session.runtime.random() * longest)
  }

  /** Resolves when the time is over, or the call was ended from outside. */
  pause(delayMs: number): Promise<void> {
    return untilEnded(this, (signal) => pause(delayMs, this.session.runtime, signal))
  }

  /** The error of the call for a member that failed. */
  failure({ member: { session, lockName }, error }: Extract<MemberAnswer, { kind: 'failed' }>): unknown {
    return this.waitMs === 0 || !isWorthRetrying(error)
      ? error
      : unansweredWait(session.runner.plight, { lockName, waitedMs: this.waitedMs }, error)
  }

  /** Another owner held a member during the whole call. */
  timeout(
    what: string,
    { lockName = '', holder, placeInLine }: LockTimeoutError,
    ofNodes: Pick<TimeoutDetails, 'nodes' | 'onlyContenders'> = {},
  ): LockTimeoutError {
    const { waitedMs } = this
    return new LockTimeoutError({ what, lockName, waitedMs, holder, placeInLine, ...ofNodes })
  }

  /** An endless wait outside contexts: its caller may itself hold the member. */
  private watched<T>({ lockName, protocol, session }: Member, wait: Promise<T>): Promise<T> {
    const { calledFrom = null } = this.request
    const watched = { lockName, protocol, calledFrom }
    const { reports } = session
    return reports.mayWaitForItself(watched) ? wait.finally(() => reports.waitedForAnother(watched)) : wait
  }

  private async publishEnd(
    publication: CallPublication,
    taking: Promise<MemberHold[] | LockTimeoutError>,
  ): Promise<MemberHold[] | LockTimeoutError> {
    const { runtime } = this.session
    try {
      const taken = await taking
      if (taken instanceof LockTimeoutError) {
        publication.timedOut(taken.holder, runtime.now())
      } else {
        publication.acquired(pathOf(taken), undefined, runtime.now())
      }
      return taken
    } catch (error) {
      publication.failed(error, this.signal, runtime.now())
      throw error
    }
  }

  private async ask(
    member: Member,
    limits: Pick<AcquireOptions, 'waitMs' | 'signal' | 'maxWaiting'>,
  ): Promise<MemberAnswer> {
    const { ofCallback, origin } = this
    const { leaseMs, renews: renew } = this.limits
    const whole = {
      undoes: (work: Promise<unknown>) => this.owes(work, member),
      parked: () => this.parked(),
    }
    const answer = await member.take({ ...limits, leaseMs, renew }, { origin, ofCallback, whole })
    if (answer.kind === 'failed' && isWorthRetrying(answer.error)) {
      this.silent.add(member)
    }
    return answer
  }

  private unanswered(member: Member, limitMs: number): MemberAnswer {
    this.silent.add(member)
    return { kind: 'failed', member, error: silenceOf(member, limitMs) }
  }

  /** Until `work` settles, the call may hold something of this member. */
  owes(work: Promise<unknown>, member: Member): void {
    this.debts.set(work, member)
    const paid = (): void => void this.debts.delete(work)
    work.then(paid, paid)
  }

  private get owed(): Promise<unknown>[] {
    return [...this.debts].filter(([, member]) => !this.silent.has(member)).map(([work]) => work)
  }

  private async untilNothingOwed(): Promise<void> {
    for (let owed = this.owed; owed.length > 0; owed = this.owed) {
      await Promise.allSettled(owed)
    }
  }

  /** Time left of the wait, with time for a reply; a call that was ended gets only the latter. */
  private get graceMs(): number {
    return this.hasEnded ? ANSWER_MS : this.patienceMs
  }

  private get patienceMs(): number {
    // 0 is still exactly one attempt, with the time of any command.
    return this.waitMs === undefined || this.waitMs === 0 ? Infinity : Math.max(this.leftMs, ANSWER_MS)
  }
}

function pathOf(levels: readonly MemberHold[]): AcquisitionPath {
  return levels.every(({ acquisition }) => acquisition.levelCount > 1) ? 'reentrant' : 'remote'
}
