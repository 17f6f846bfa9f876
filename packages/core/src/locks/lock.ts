import type { AcquireRequest, Finish as FinishCall } from '../acquire/acquire-call.js'
import type { AcquireOptions } from '../acquire/acquire-options.js'
import { obtain } from '../acquire/obtain.js'
import { enclosingAcquisition } from '../acquire/reentry.js'
import type { CallSite } from '../context/context.js'
import { siteToRelease } from '../context/ambient.js'
import { NotLockOwnerError } from '../errors.js'
import { type FieldNames, Hold } from '../hold.js'
import { inspectionOf, type LockInspection } from '../kinds/lock-inspection.js'
import type { LockServices } from './services.js'
import { AnyLock, checkedHolder, type Finish, type ForceUnlockOptions } from './any-lock.js'
import type { LockProtocol } from '../kinds/lock-protocol.js'
import { notAHoldOf, whyNoHold } from './unlock.js'
import { withLock } from './with-lock.js'

/**
 * A lock by name, shared by all processes that use the same name on the same Redis. Cheap to create: keep the object
 * or create it anew for each use.
 */
export class Lock<H extends Hold = Hold> extends AnyLock<H> {
  /** @internal Created by a client. */
  constructor(
    session: LockServices,
    /** @internal */
    readonly protocol: LockProtocol,
    thread: CallSite | null,
  ) {
    super(session, protocol.lockName, thread)
  }

  async forceUnlock(options: ForceUnlockOptions = {}): Promise<boolean> {
    const holder = checkedHolder(options)
    this.session.assertOpen(this.name)
    const shown = holder === undefined ? undefined : new Map([[holder, 1]])
    const held = () => this.session.held.ofScope(this.protocol.scope)
    const mine = new Set(held().filter((each) => shown === undefined || each.field.find(shown) !== undefined))
    const outcome = await this.protocol.forceRelease(holder)
    if (outcome !== 'held-by-another') {
      // Whoever has released it, or passed it on, since the command was sent has lost nothing.
      held()
        .filter((each) => mine.has(each))
        .forEach((each) => each.lease.lose('forced'))
      this.session.idleLocks?.end(this.protocol.key)
    }
    return outcome === 'released'
  }

  async isLocked(): Promise<boolean> {
    return (await this.protocol.inspect()).ttlMs !== -2
  }

  getHoldCount(): Promise<number> {
    const field = this.fieldHere()
    return this.countOf(field ? [field] : [])
  }

  async remainTimeToLive(): Promise<number> {
    return (await this.protocol.inspect()).ttlMs
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

  withLock<T>(callback: (hold: H) => Promise<T> | T, options?: AcquireOptions): Promise<T> {
    const { session, protocol } = this
    const call = { session, protocol, site: this.site(), options }
    return withLock(call, callback as (hold: Hold) => Promise<T> | T)
  }

  /** @internal */
  protected take<T>(request: AcquireRequest<H>, finish: Finish<H, T>): Promise<T> {
    return obtain(this.session, this.protocol, request, finish as FinishCall<T>)
  }

  /** @internal */
  protected ownHold(given: unknown): H {
    if (given instanceof Hold && given.isOf(this.session, this.protocol.scope)) {
      return given as H
    }
    throw notAHoldOf(this.name, given)
  }

  /** @internal */
  protected latestHold(): H {
    const site = siteToRelease(this.session.contexts, this.thread)
    const hold = site && enclosingAcquisition(site, this.protocol.scope)?.acquisition.latestLevel
    if (hold) {
      return hold as H
    }
    if (site?.context.alive === true) {
      throw new NotLockOwnerError(this.name, whyNoHold(site.context, this.protocol.scope))
    }
    return this.bare.take()
  }

  /** @internal */
  protected countOfThread(threadId: number): Promise<number> {
    const held = this.session.held.ofScope(this.protocol.scope)
    const mine = held.filter(({ thread }) => thread?.id === threadId)
    return this.countOf(mine.map(({ field }) => field))
  }

  private async countOf(fields: readonly FieldNames[]): Promise<number> {
    if (fields.length === 0) {
      return 0
    }
    const { holds } = await this.protocol.inspect()
    return Math.max(...fields.map((field) => field.find(holds) ?? 0))
  }

  private fieldHere(): FieldNames | undefined {
    const site = this.site()
    return site
      ? enclosingAcquisition(site, this.protocol.scope)?.acquisition.field
      : this.bare.current?.field
  }
}
