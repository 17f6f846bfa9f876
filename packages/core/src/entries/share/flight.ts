import { AsyncResource } from 'node:async_hooks'
import { ClientClosedError, type Hold, type LockHolder } from '../../index.js'
import {
  Acquisition,
  unavailableOrThrow,
  type LevelRequest,
  ALONE,
  noteWish,
  localName,
  lockHolder,
  unansweredWait,
} from '../door.js'
import type { AwaitedRun, Caller, ResultSource, SharedResult, SharedRun, Task } from './caller.js'
import { encoded, type ShareCodec } from './codec.js'
import { detailsIn, detailsOf } from './error-details.js'
import { SharedError, ShareBusyError, ShareOutcomeUnknownError } from './errors.js'
import { RunProtocol, type Wanted } from './run-protocol.js'
import { callTask, runUnder, type Made, type RunPlace } from './run-under.js'
import type { Found, FoundResult, OlderResult } from './scripts.js'
import { Validity } from './validity.js'

/** How a share runs and keeps, with its defaults filled in. */
export interface ShareRules<T> {
  readonly wanted: Wanted
  /** How long a result counts as fresh, and how long it is kept, ms. */
  keepTimes(value: T): { readonly freshMs: number; readonly usableMs: number }
  readonly codec: ShareCodec<T>
  readonly maxBytes: number
  readonly leaseMs: number | undefined
  readonly runsWithoutRedis: boolean
  /** The run that was to replace an older result has failed. */
  refreshFailed(error: unknown, key: string): void
}

type Begun = Extract<Found, { kind: 'begun' }>
/** How a look at Redis ended; `left`: nobody waits any more, or Redis was given up. */
type Look = Seen | BegunHere | { readonly kind: 'left' | 'too-late' }

interface LookedAt {
  readonly asOf: number
}

/** Redis's answer, and the number of the command that it answers. */
type Seen = Exclude<Found, Begun> & LookedAt

interface BegunHere {
  readonly kind: 'begun'
  readonly older: OlderResult | undefined
  readonly asOf: number
  readonly hold: Hold
  readonly protocol: RunProtocol
}

type AwaitedHere = Extract<Seen, { readonly kind: 'awaited' }>

/** The consequence of a look for the wait. */
type Try = ReturnType<typeof unavailableOrThrow> | { kind: 'done'; value: { found: Found } & LookedAt }

// The end of a run is under way for no longer than this.
const SHORT_MS = 100
const EVERYBODY = Number.POSITIVE_INFINITY

// Work for several callers belongs to none of them: what their requests keep in async contexts is not theirs to see.
const outside = new AsyncResource('holdfast.share')

/**
 * The callers of one process for one key, from the first of them until they have a result:
 *
 *   looking ──nothing there──► running ──value, error──► over: all are answered
 *     │  ▲ └──a run under way──► waiting ──its result──► over
 *     │  └───────────────────────┴──┴── the run ended without a result (`rerun`), or lost its lock
 *     └── kept or older result ──► over
 *
 * One caller's function runs; whoever leaves, a run goes on. One command at a time, whatever the number of callers.
 * `Validity` tells which of them may have a result.
 */
export class Flight<T> implements AwaitedRun<T> {
  private readonly callers = new Set<Caller<T>>()
  /** Whose function runs. */
  private runner: Caller<T> | null = null
  /** An `invalidate` of this process is a command, too. */
  readonly validity = new Validity()
  private inLine: { leave(): void } | null = null
  /** Redis has answered. */
  private wasAnswered = false
  /** Its latest command got no answer. */
  private trouble: unknown = undefined
  /** A caller has waited for Redis long enough, and its function is to run without. */
  private outage: unknown = undefined
  private holder: LockHolder | undefined = undefined

  constructor(
    private readonly place: RunPlace,
    private readonly rules: ShareRules<T>,
    private readonly onOver: (flight: Flight<T>) => void,
  ) {}

  join(caller: Caller<T>): void {
    this.callers.add(caller)
    caller.waitFor(this, this.validity.sent)
  }

  start(): void {
    const { session } = this.place
    // Later than all calls of this turn: one look is for all of them.
    session.background.run(outside.runInAsyncScope(() => Promise.resolve().then(() => this.run())))
  }

  leave(caller: Caller<T>): void {
    this.callers.delete(caller)
    if (this.callers.size === 0) {
      this.inLine?.leave()
    }
  }

  overdue(caller: Caller<T>): void {
    if (!this.wasAnswered && this.outage === undefined && caller.allowAnAnswer()) {
      return
    }
    if (this.wasAnswered && this.trouble === undefined) {
      this.refuse(caller)
      return
    }
    const error = this.unavailable(caller.waitedMs)
    if (this.rules.runsWithoutRedis) {
      this.outage = error
      this.inLine?.leave()
    } else {
      this.dismiss(caller, error)
    }
  }

  private refuse(caller: Caller<T>): void {
    this.dismiss(caller, new ShareBusyError(this.place.lockName, caller.waitedMs, this.holder))
  }

  private dismiss(caller: Caller<T>, error: unknown): void {
    this.leave(caller)
    caller.fail(error)
  }

  private unavailable(waitedMs: number): unknown {
    const { lockName, session } = this.place
    return unansweredWait(session.runner.plight, { lockName, waitedMs }, this.trouble)
  }

  /** Looks again while a run was lost, or there was none, or callers came too late for a result. */
  private async run(): Promise<void> {
    try {
      while (this.callers.size > 0) {
        await this.follow(await this.lookOrGiveUp())
      }
      this.end(() => undefined)
    } catch (error) {
      this.end((callers) => callers.forEach((caller) => caller.fail(error)))
    }
  }

  private async follow(look: Look): Promise<void> {
    switch (look.kind) {
      case 'begun':
        await this.runAs(look)
        break
      case 'kept':
        this.finish(look.result, 'kept', look.asOf)
        break
      case 'awaited':
        this.finishAwaited(look)
        break
      case 'under-way':
        this.finish(look.older as OlderResult, 'stale', look.asOf)
        break
      case 'crashed':
        throw new ShareOutcomeUnknownError(this.place.lockName)
      case 'left':
        // Not of callers that came since the last one left.
        if (this.outage !== undefined && this.callers.size > 0) {
          await this.runAlone()
        }
        break
      case 'superseded':
      case 'too-late':
        break
    }
  }

  private lookOrGiveUp(): Promise<Look> {
    return this.look().catch((error: unknown) => {
      if (!this.rules.runsWithoutRedis || !isOutage(error)) {
        throw error
      }
      this.outage = error
      return { kind: 'left' }
    })
  }

  /** Looks until there is something for the callers, or nobody waits. */
  private async look(): Promise<Look> {
    const { session, lockName } = this.place
    const { leaseMs, wanted } = this.rules
    const protocol = new RunProtocol(session, lockName, wanted)
    protocol.awaited = this.validity.awaited
    const acquisition = new Acquisition(session, protocol, { thread: null, rule: ALONE })
    const note = session.options.describeHolds && noteWish(session.options.describeHolds, undefined)
    const request: LevelRequest = {
      limits: { leaseMs, renews: true, waitMs: undefined },
      ofCallback: false,
      note,
    }
    const attempt = () => {
      const lookedAt = { asOf: this.validity.next() }
      return acquisition.tryFirst(request, {
        onReply: () => this.attemptOf(protocol, lookedAt),
        onError: (error: unknown) => {
          this.trouble = error
          return unavailableOrThrow(error)
        },
      })
    }
    // A line of its own: the callers of another flight, or of a lock of this name, must not wait in front of it.
    const place = session.waiter.enter<{ found: Found } & LookedAt>({
      queue: localName('share', acquisition.owner),
      topic: protocol.doorbell,
      attempt,
    })
    this.inLine = place
    let hold: Hold | null = null
    try {
      const outcome = await place.outcome
      this.inLine = null
      if (outcome.kind === 'unavailable') {
        throw this.unavailable(session.options.unavailableTimeoutMs)
      }
      if (outcome.kind !== 'done') {
        return { kind: 'left' }
      }
      const { found, ...lookedAt } = outcome.value
      const { asOf } = lookedAt
      if (found.kind !== 'begun') {
        return { ...found, ...lookedAt }
      }
      hold = acquisition.begin(request)
      return hold ? { kind: 'begun', older: found.older, asOf, hold, protocol } : { kind: 'too-late' }
    } finally {
      this.inLine = null
      if (!hold) {
        // A late or unanswered copy may have begun this.
        void acquisition.undo()
      }
    }
  }

  /** Decides what follows from a reply for the wait. */
  private attemptOf(protocol: RunProtocol, lookedAt: LookedAt): Try {
    const found = protocol.found as Found
    this.wasAnswered = true
    this.trouble = undefined
    if (found.kind === 'superseded') {
      return { kind: 'refused', retryAfterMs: 1 }
    }
    if (found.kind !== 'under-way' || found.older) {
      return { kind: 'done', value: { found, ...lookedAt } }
    }
    const { owner, leaseLeftMs, isOutdated } = found
    this.validity.underWay(owner, isOutdated, lookedAt.asOf)
    protocol.awaited = this.validity.awaited
    this.holder = lockHolder({ owner, holds: 1, leaseLeftMs, heldForAtLeastMs: 0 })
    for (const caller of [...this.callers].filter((each) => each.isOverdue)) {
      this.refuse(caller)
    }
    // 0 in its last millisecond; below, it has no end.
    return { kind: 'refused', retryAfterMs: leaseLeftMs >= 0 ? leaseLeftMs : Number.POSITIVE_INFINITY }
  }

  /** Runs the function of the first caller under the lock. */
  private async runAs({ hold, protocol, older, asOf }: BegunHere): Promise<void> {
    const { session, lockName } = this.place
    const [first] = this.callers
    if (!first) {
      await hold.release().catch(() => undefined)
      return
    }
    if (older) {
      session.background.run(this.refresh(first.task, hold, protocol))
      this.finish(older, 'stale', asOf)
      return
    }
    this.beRunner(first, hold.owner)
    this.validity.begins(hold.owner)
    let finishedAt = 0
    const finishing = (): void => void (finishedAt = this.validity.next())
    const made = (): Promise<Made> => this.make(first.task, this.runOf(hold))
    const ended = await runUnder(hold, protocol, session, { make: made, finishing })
    if (ended.kind === 'lost') {
      if (session.closing.aborted) {
        throw new ClientClosedError(lockName)
      }
      if (this.rules.wanted.failsOnCrash) {
        throw new ShareOutcomeUnknownError(lockName, ended.error)
      }
      this.validity.forget()
      this.runner?.limit()
      this.runner = null
      return
    }
    this.finishUnlessOutdated(protocol.endedOutdated, finishedAt, (before) =>
      ended.kind === 'error'
        ? this.fail(ended.error, before)
        : this.finish({ kind: 'v', text: ended.text, ageMs: 0 }, 'joined', before),
    )
  }

  /** Makes a newer result, while the older one is served: by Redis, which knows whether it was invalidated. */
  private async refresh(task: Task<T>, hold: Hold, protocol: RunProtocol): Promise<void> {
    const make = (): Promise<Made> => this.make(task, this.runOf(hold))
    const ended = await runUnder(hold, protocol, this.place.session, { make, finishing: () => undefined })
    if (ended.kind === 'error') {
      this.rules.refreshFailed(ended.error, this.place.key)
    }
  }

  private runOf(hold: Hold): SharedRun {
    const { key } = this.place
    return {
      key,
      // Asked each time: after a pause of the process the end of trust is noticed by this.
      get signal() {
        return hold.signal
      },
      coordinated: true,
      verify: () => hold.verify(),
    }
  }

  /** Runs the function of the first caller for this process alone. */
  private async runAlone(): Promise<void> {
    const { session, key } = this.place
    const { outage } = this
    const [first] = this.callers as Iterable<Caller<T>> as [Caller<T>]
    this.beRunner(first, session.clientId)
    const verify = (): Promise<void> => Promise.reject(outage)
    const run: SharedRun = { key, signal: session.closing, coordinated: false, verify }
    await this.make(first.task, run).then(
      ({ text }) => this.finish({ kind: 'v', text, ageMs: 0 }, 'uncoordinated', EVERYBODY),
      (error: unknown) => this.fail(error, EVERYBODY),
    )
  }

  private beRunner(caller: Caller<T>, owner: string): void {
    this.runner = caller
    caller.unlimit()
    this.wasAnswered = true
    this.trouble = undefined
    this.holder = lockHolder({ owner, holds: 1, leaseLeftMs: -1, heldForAtLeastMs: 0 })
  }

  private async make(task: Task<T>, run: SharedRun): Promise<Made> {
    const { codec, maxBytes } = this.rules
    const value = await callTask(this.place, task, run)
    const times = this.rules.keepTimes(value)
    return { text: await encoded(codec, value, maxBytes), ...times }
  }

  /**
   * The run that the callers wait for has ended.
   *
   * @param isOutdated whether it was invalidated; undefined: not known
   * @param asOf the command that Redis answered so
   */
  private finishUnlessOutdated(
    isOutdated: boolean | undefined,
    asOf: number,
    finish: (before: number) => void,
  ): void {
    finish(this.validity.countsBefore(isOutdated, asOf))
    if (isOutdated === true) {
      this.validity.forget()
    } else if (this.callers.size > 0) {
      // They fetch the same result, which one more command finds valid or not. Who comes now is no longer of this flight.
      this.onOver(this)
    }
  }

  /**
   * The result of the run that the callers wait for, which may have ended long ago, as after an outage of this process. It
   * is for those who have come before its end, or while its end was under way: the age tells when that was.
   */
  private finishAwaited({ result, isOutdated, asOf }: AwaitedHere): void {
    const endedAt = this.place.session.runtime.now() - result.ageMs + SHORT_MS
    this.finishUnlessOutdated(isOutdated, asOf, (before) => this.finish(result, 'joined', before, endedAt))
    if ([...this.callers].every(({ startedAt }) => startedAt > endedAt)) {
      // One of those who are left runs.
      this.validity.forget()
    }
  }

  /** There is a result, for all callers that came before this command, and before the run had ended. */
  private finish(result: FoundResult, source: ResultSource, before: number, endedAt?: number): void {
    if (result.kind === 'v') {
      this.settle(before, (callers) => this.answer(callers, result, source), endedAt)
    } else {
      const error = new SharedError(this.place.lockName, detailsIn(result.text))
      this.settle(before, (callers) => callers.forEach((caller) => caller.fail(error)), endedAt)
    }
  }

  /** The function that ran here has failed: its caller hears of it as it is. */
  private fail(error: unknown, before: number): void {
    const { runner } = this
    this.settle(before, (callers) => {
      const told = new SharedError(this.place.lockName, detailsOf(error))
      callers.forEach((caller) => caller.fail(caller === runner ? error : told))
    })
  }

  /** Answers the callers that came in time. Those who are left look again. */
  private settle(before: number, answer: (callers: readonly Caller<T>[]) => void, endedAt = EVERYBODY): void {
    const settled = [...this.callers].filter(
      ({ joinedAt, startedAt }) => joinedAt < before && startedAt <= endedAt,
    )
    if (settled.length === this.callers.size) {
      this.end(answer)
    } else {
      settled.forEach((caller) => this.callers.delete(caller))
      answer(settled)
      this.runner = null
    }
  }

  /** All get the same value, decoded once: also the caller whose function made it, so that no caller sees another type. */
  private answer(callers: readonly Caller<T>[], { text, ageMs }: FoundResult, source: ResultSource): void {
    if (callers.length === 0) {
      return
    }
    const { runner, rules } = this
    const decoded = Promise.resolve(text).then((given) => rules.codec.decode(given))
    for (const caller of callers) {
      const isOwn = caller === runner && source === 'joined'
      const result = decoded.then((value): SharedResult<T> => ({
        value,
        ageMs,
        source: isOwn ? 'run' : source,
      }))
      caller.succeed(result)
    }
  }

  /** Nobody joins it any more when its callers are answered. */
  private end(answer: (callers: readonly Caller<T>[]) => void): void {
    this.onOver(this)
    const callers = [...this.callers]
    this.callers.clear()
    answer(callers)
  }
}

function isOutage(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === 'REDIS_UNAVAILABLE'
}
