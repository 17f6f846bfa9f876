import { obtain, type Finish } from '../acquire/acquire-call.js'
import type { AcquireOptions } from '../acquire/acquire-options.js'
import { UnscopedCalls } from '../acquire/unscoped-calls.js'
import { enclosingAcquisition } from '../acquire/reentry.js'
import type { CallSite } from '../context/context.js'
import { siteToAcquire, siteToRelease } from '../context/ambient.js'
import { NotLockOwnerError } from '../errors.js'
import { type FieldNames, Hold } from '../hold.js'
import { inspectionOf, type LockInspection } from '../inspect/lock-inspection.js'
import type { LockState } from '../scripts/lock.js'
import type { LockServices } from './services.js'
import { checkThreadId } from '../arguments/validate.js'
import { checkedHolder, type AnyLock, type ForceUnlockOptions } from './any-lock.js'
import type { LockProtocol } from '../kinds/lock-protocol.js'
import { notAHoldOf, refuseIfNotHeld, whyNoHold } from './unlock.js'
import { holdOrNull, holdOrThrow, isHeld } from './obtained.js'
import { withLock } from './with-lock.js'
import { showsOnly } from '../runtime/shows-only.js'

/**
 * A lock by name, shared by all processes that use the same name on the same Redis. Cheap to create: keep the object
 * or create it anew for each use. All durations are milliseconds.
 *
 * Two API styles: Redisson's (`lock`, `tryLock`, `unlock`) and JavaScript's (`acquire`, `tryAcquire`, `withLock`).
 * Without a lease, the watchdog renews the lock for as long as it is held.
 */
export class Lock implements AnyLock<Hold> {
  private readonly bare: UnscopedCalls

  /** @internal Created by a client. */
  constructor(
    /** @internal */
    readonly session: LockServices,
    /** @internal */
    readonly protocol: LockProtocol,
    /** @internal The thread this object is bound to; null: the context around each call. */
    readonly thread: CallSite | null,
  ) {
    this.bare = new UnscopedCalls(session, protocol.lockName)
  }

  /** The name of the lock, without the `keyPrefix` of the client. */
  get name(): string {
    return this.protocol.lockName
  }

  /**
   * Waits until the caller holds the lock: without a limit, unless the client has `waitMs`.
   * @param leaseMs the lease, not renewed: Redis frees the lock after it in any case. Default: the client's `leaseMs`, else
   *   renewed until `unlock`
   * @throws LockTimeoutError after the client's `waitMs`; InvalidArgumentError, LockLostError (a re-entry into a lost lock), SelfDeadlockError,
   *   ContextRequiredError, RedisUnavailableError (no answer for `unavailableTimeoutMs`), WrongTypeError,
   *   ClientClosedError
   */
  lock(leaseMs?: number): Promise<Hold> {
    return this.byHand('lock', { leaseMs }, holdOrThrow)
  }

  tryLock(waitMs = 0, leaseMs?: number): Promise<boolean> {
    const tried = this.byHand('tryLock', { waitMs, leaseMs }, isHeld)
    return this.site() ? tried : this.bare.answerOf(tried)
  }

  async unlock(hold?: Hold): Promise<void> {
    const mine = hold === undefined ? this.latestHold() : this.ownHold(hold)
    refuseIfNotHeld(mine, await mine.release())
  }

  async forceUnlock(options: ForceUnlockOptions = {}): Promise<boolean> {
    const holder = checkedHolder(options)
    this.session.assertOpen(this.name)
    const shown = holder === undefined ? undefined : new Map([[holder, 1]])
    const mine = this.session.held
      .ofScope(this.protocol.scope)
      .filter((each) => shown === undefined || each.field.find(shown) !== undefined)
    const outcome = await this.protocol.forceRelease(holder)
    if (outcome !== 'held-by-another') {
      // Whoever has released it, or passed it on, since the command was sent has lost nothing.
      const held = new Set(this.session.held.ofScope(this.protocol.scope))
      mine.filter((each) => held.has(each)).forEach((each) => each.lose('forced'))
      this.session.idleLocks?.end(this.protocol.key)
    }
    return outcome === 'released'
  }

  async isLocked(): Promise<boolean> {
    return (await this.state()).ttlMs !== -2
  }

  async isHeldByCurrentContext(): Promise<boolean> {
    return (await this.getHoldCount()) > 0
  }

  async isHeldByThread(threadId: number): Promise<boolean> {
    checkThreadId(threadId)
    const owners = this.session.held
      .ofScope(this.protocol.scope)
      .filter((each) => each.thread?.id === threadId)
    if (owners.length === 0) {
      return false
    }
    const { holds } = await this.state()
    return owners.some((each) => each.field.find(holds) !== undefined)
  }

  async getHoldCount(): Promise<number> {
    const field = this.fieldHere()
    return field ? (field.find((await this.state()).holds) ?? 0) : 0
  }

  async remainTimeToLive(): Promise<number> {
    return (await this.state()).ttlMs
  }

  /**
   * Asks Redis for the holder, its lease and the waiters at one moment; for a read-write lock, for the holders of
   * either mode. For operations and tests: the result may be outdated when it arrives.
   * @returns null: the lock is free
   * @throws RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  async inspect(): Promise<LockInspection | null> {
    const { protocol, name } = this
    return inspectionOf(name, await protocol.explain(), protocol.kind)
  }

  /**
   * Waits until the caller holds the lock: at most `waitMs`, by default the client's, else without a limit.
   * @throws LockTimeoutError another owner still holds it after `waitMs`; the reason of `signal`; else as `lock`
   */
  acquire(options: AcquireOptions = {}): Promise<Hold> {
    return this.obtain('acquire', options, this.session.options.waitMs, holdOrThrow)
  }

  tryAcquire(options: AcquireOptions = {}): Promise<Hold | null> {
    return this.obtain('tryAcquire', options, 0, holdOrNull)
  }

  /**
   * Runs the callback while the lock is held; waits for it like `acquire`, by default without a limit. Inside, the
   * caller is one logical thread: nested calls re-enter, siblings started together exclude each other.
   * @returns the result of the callback; an error of the callback wins over any other
   * @throws LockLostError the callback succeeded, but the lock was lost meanwhile; `result` is the callback's
   * @throws as `acquire`
   */
  withLock<T>(callback: (hold: Hold) => Promise<T> | T, options: AcquireOptions = {}): Promise<T> {
    const { session, protocol } = this
    return withLock({ session, protocol, site: this.site(), options }, callback)
  }

  /** @internal The Redisson-style calls. */
  protected byHand<T>(method: string, options: AcquireOptions, finish: Finish<T>): Promise<T> {
    const site = this.site()
    const bare = site ? null : { calls: this.bare, method }
    const calledFrom = this.session.reports.origin(method)
    const defaultWaitMs = this.session.options.waitMs
    const request = { options, defaultWaitMs, site, ofCallback: false, bare, calledFrom }
    return obtain(this.session, this.protocol, request, this.session.reports.noted(calledFrom, finish))
  }

  private obtain<T>(
    method: string,
    options: AcquireOptions,
    defaultWaitMs: number | undefined,
    given: Finish<T>,
  ): Promise<T> {
    const site = this.site()
    const calledFrom = this.session.reports.origin(method)
    const finish = this.session.reports.noted(calledFrom, given)
    const request = { options, defaultWaitMs, site, ofCallback: false, bare: null, calledFrom }
    if (site) {
      return obtain(this.session, this.protocol, request, finish)
    }
    return obtain(this.session, this.protocol, request, (obtained) => {
      if (obtained.kind === 'held') {
        this.bare.keep(obtained.hold, false)
      }
      return finish(obtained)
    })
  }

  private state(): Promise<LockState> {
    return this.protocol.inspect()
  }

  private site(): CallSite | null {
    return siteToAcquire(this.session.contexts, this.thread)
  }

  private ownHold(given: unknown): Hold {
    if (given instanceof Hold && given.isOf(this.session, this.protocol.scope)) {
      return given
    }
    throw notAHoldOf(this.name, given)
  }

  private latestHold(): Hold {
    const site = siteToRelease(this.session.contexts, this.thread)
    const hold = site && enclosingAcquisition(site, this.protocol.scope)?.acquisition.latestLevel
    if (hold) {
      return hold
    }
    if (site?.context.alive === true) {
      throw new NotLockOwnerError(this.name, whyNoHold(site.context, this.protocol.scope))
    }
    return this.bare.take()
  }

  private fieldHere(): FieldNames | undefined {
    const site = this.site()
    return site
      ? enclosingAcquisition(site, this.protocol.scope)?.acquisition.field
      : this.bare.current?.field
  }
}

showsOnly(Lock, ['name'])
