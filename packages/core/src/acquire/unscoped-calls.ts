import { ContextRequiredError, NotLockOwnerError } from '../errors.js'
import { OncePerName, warn } from '../events.js'
import type { Hold } from '../hold.js'
import { MOST_ORIGINS, type Session } from '../client/session.js'

const LONG_WAIT_MS = 2_000
const WAITED_LONG = `a caller outside any context has waited for ${LONG_WAIT_MS} ms, perhaps for itself`
const OVERLAP = 'two callers outside any context use one lock object at the same time'
const warnedOf = new OncePerName()

/** The hold that a lock object gives to callers outside contexts. */
interface UnscopedHold {
  readonly isLost: boolean
  readonly wasReleased: boolean
}

/** One `lock()` or `tryLock()` outside any context. */
export class UnscopedCall<H extends UnscopedHold = Hold> {
  private longWait: { cancel(): void } | null = null

  constructor(
    private readonly calls: UnscopedCalls<H>,
    /** Whether it may cause a warning. */
    private readonly watched: boolean,
    /** The call's stack, if it was recorded. */
    readonly origin: Error | null,
    private before: UnscopedCall<H> | null,
  ) {}

  /** The call sleeps: one that has waited for long may be waiting for itself. */
  parked(): void {
    if (this.watched) {
      this.longWait = this.calls.afterLongWait(() => this.calls.warnOf(WAITED_LONG, this, this.before))
    }
  }

  end(hold: H | null): void {
    this.longWait?.cancel()
    // Otherwise calls that never stop overlapping would keep all earlier ones in memory.
    this.before = null
    this.calls.ended(hold)
  }
}

/**
 * A lock object's calls outside contexts. Two callers cannot be told apart, so the object itself records the one hold
 * that a plain `unlock()` releases, and the debts of lost holds: the late `unlock` of a caller that lost its hold
 * must not release the next caller's.
 */
export class UnscopedCalls<H extends UnscopedHold = Hold> {
  private hold: H | null = null
  private holdOwesUnlock = false
  private debts: H[] = []
  private pending = 0
  private latest: UnscopedCall<H> | null = null

  constructor(
    private readonly session: Session,
    private readonly lockName: string,
  ) {}

  /** @throws ContextRequiredError if the client's `bareCalls` is 'throw' */
  begin(method: string): UnscopedCall<H> {
    this.refuseWhereForbidden(method)
    const watched = this.session.options.bareCalls === 'warn' && !warnedOf.has(this.lockName)
    const overlaps = watched && (this.pending > 0 || this.isHeld)
    const call = new UnscopedCall<H>(this, watched, this.originOf(method, watched, overlaps), this.latest)
    if (overlaps) {
      this.warnOf(OVERLAP, call, this.latest)
    }
    this.pending += 1
    this.latest = watched ? call : null
    return call
  }

  /** @internal */
  ended(hold: H | null): void {
    this.pending -= 1
    if (hold) {
      this.keep(hold, true)
    } else if (this.pending === 0 && !this.isHeld) {
      this.latest = null
    }
  }

  /**
   * `owesUnlock`: the caller has no handle but this object, so its `unlock()` is still to come if the hold is lost.
   */
  keep(hold: H, owesUnlock: boolean): void {
    const before = this.hold
    // Whether it is lost is a query to the watchdog: avoided for released holds, the common case.
    if (before && this.holdOwesUnlock && !before.wasReleased && before.isLost) {
      this.debts.push(before)
    }
    this.hold = hold
    this.holdOwesUnlock = owesUnlock
  }

  /** The hold that a plain `unlock()` releases. @throws NotLockOwnerError there is none, or it was lost */
  take(): H {
    this.refuseWhereForbidden('unlock')
    this.debts = this.debts.filter((each) => !each.wasReleased)
    const hold = this.debts.shift() ?? this.hold
    if (hold === this.hold) {
      this.hold = null
    }
    if (!hold || hold.wasReleased) {
      throw new NotLockOwnerError(
        this.lockName,
        'outside contexts a hold belongs to the lock object that took it, and this one has none',
      )
    }
    return hold
  }

  get current(): H | null {
    return this.isHeld ? this.hold : null
  }

  private get isHeld(): boolean {
    return this.hold !== null && !this.hold.wasReleased && !this.hold.isLost
  }

  private originOf(method: string, watched: boolean, overlaps: boolean): Error | null {
    const { bareOrigins } = this.session
    if (!watched || (bareOrigins.left === 0 && !overlaps)) {
      return null
    }
    bareOrigins.left = Math.max(0, bareOrigins.left - 1)
    return new Error(`${method}() outside any context`)
  }

  private refuseWhereForbidden(method: string): void {
    if (this.session.options.bareCalls === 'throw') {
      throw new ContextRequiredError(this.lockName, method)
    }
  }

  /** @internal */
  afterLongWait(fire: () => void): { cancel(): void } {
    return this.session.clock.setTimer(LONG_WAIT_MS, fire)
  }

  /** @internal */
  warnOf(what: string, call: UnscopedCall<H>, other: UnscopedCall<H> | null): void {
    if (!warnedOf.take(this.lockName)) {
      return
    }
    const stacks = [call, other].map(
      (each, i) =>
        `${i === 0 ? 'This call' : 'The other'}: ${each?.origin?.stack ?? `not recorded, as only the first ${MOST_ORIGINS} calls of a client are`}`,
    )
    warn(
      'HOLDFAST_BARE_CALLS',
      `Lock "${this.lockName}": ${what}. Their unlock() can give back each other's hold, and they never re-enter. ` +
        `Use lock.withLock(callback), keep the hold that acquire() returns, or open a context with locks.run(callback).\n${stacks.join('\n')}`,
    )
  }
}
