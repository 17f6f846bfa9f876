import type { AcquireOptions } from '../acquire/acquire-options.js'
import { UnscopedCalls } from '../acquire/unscoped-calls.js'
import { Context, type CallSite } from '../context/context.js'
import { siteToAcquire, siteToRelease } from '../context/ambient.js'
import { HolderChangedError, LockTimeoutError, NotLockOwnerError } from '../errors.js'
import type { AnyLock, ForceUnlockOptions } from '../locks/any-lock.js'
import { notAHoldOf, refuseIfNotHeld, whyNoHold } from '../locks/unlock.js'
import { whileHeld, type Entered } from '../locks/while-held.js'
import type { HeldLock } from '../client/held-locks.js'
import type { LockServices } from '../locks/services.js'
import { checkCallback, checkThreadId } from '../arguments/validate.js'
import { CompoundCall, type CompoundRequest } from './compound-call.js'
import { CompoundHold } from './compound-hold.js'
import { gather, reachedBy, type CompoundRule } from './compound-rule.js'
import type { Member, MemberHold } from './member.js'
import { showsOnly } from '../runtime/shows-only.js'

type Obtained = CompoundHold | LockTimeoutError
type CallRequest = Omit<CompoundRequest, 'name' | 'onWait' | 'options'> & {
  /** A Redisson-style method outside contexts; null: any other call. */
  readonly bareMethod: string | null
}

/**
 * Several locks acquired as one. The contexts of the client that made it apply: inside one, every member is
 * re-entered, also members of other clients.
 */
export abstract class CompoundLock implements AnyLock<CompoundHold> {
  readonly name: string
  /** @internal */
  protected abstract readonly rule: CompoundRule
  /** @internal */
  protected abstract readonly kind: 'multi' | 'red'
  private readonly bare: UnscopedCalls<CompoundHold>

  /** @internal Created by a client. */
  constructor(
    /** @internal */
    protected readonly session: LockServices,
    /** @internal */
    protected readonly members: readonly Member[],
    /** The thread it is bound to; null: the context around each call. */
    private readonly thread: CallSite | null,
  ) {
    this.name = [...new Set(members.map(({ lockName }) => lockName))].join(', ')
    this.bare = new UnscopedCalls(session, this.name)
  }

  /** @internal Acquires enough members, or none. @returns an error when another owner holds too many */
  protected abstract take(call: CompoundCall): Promise<MemberHold[] | LockTimeoutError>

  /** @internal A call has taken the lock. */
  protected abstract begun(hold: CompoundHold, call: CompoundCall): void

  /**
   * Waits until the caller holds the lock: without a limit, unless the client has `waitMs`.
   * @param leaseMs the lease of every member, not renewed. Default: renewed until `unlock`
   * @throws as `lock` of a member
   */
  lock(leaseMs?: number): Promise<CompoundHold> {
    return this.obtain({ leaseMs }, this.request('lock', true), holdOrThrow)
  }

  /**
   * Tries to acquire the lock, waiting at most `waitMs` in all.
   * @param waitMs how long to wait, default 0: one attempt
   * @param leaseMs as for `lock`
   * @returns false: another owner holds the lock
   * @throws as `lock`, but no LockTimeoutError
   */
  tryLock(waitMs = 0, leaseMs?: number): Promise<boolean> {
    const request = this.request('tryLock', true)
    const tried = this.obtain({ waitMs, leaseMs }, request, isHeld)
    return request.origin ? tried : this.bare.answerOf(tried)
  }

  /**
   * Releases one level of every member and waits for the replies: the levels of `hold`, by default the caller's
   * latest.
   * @throws InvalidArgumentError `hold` belongs to another lock
   * @throws NotLockOwnerError the caller holds too few members, or they were lost; current holders are unaffected
   * @throws RedisUnavailableError see `Hold.release`
   */
  async unlock(hold?: CompoundHold): Promise<void> {
    const mine = hold === undefined ? this.latestHold() : this.ownHold(hold)
    refuseIfNotHeld(mine, await mine.release())
  }

  /**
   * Waits until the caller holds the lock: at most `waitMs`, by default the client's, else without a limit.
   * @throws LockTimeoutError after `waitMs`; the signal's reason; as `lock`
   */
  acquire(options: AcquireOptions = {}): Promise<CompoundHold> {
    return this.obtain(options, this.request('acquire', false), holdOrThrow)
  }

  tryAcquire(options: AcquireOptions = {}): Promise<CompoundHold | null> {
    return this.obtain(options, this.request('tryAcquire', false, 0), holdOrNull)
  }

  /**
   * Runs the callback while the lock is held; waits for it like `acquire`, by default without a limit. Inside, the
   * caller is one logical thread in every client. See `Lock.withLock`.
   * @throws LockLostError the callback succeeded, but the lock was lost meanwhile; as `acquire`
   */
  async withLock<T>(
    callback: (hold: CompoundHold) => Promise<T> | T,
    options: AcquireOptions = {},
  ): Promise<T> {
    checkCallback(callback)
    const here = siteToAcquire(this.session.contexts, this.thread)
    const own = here ? null : new Context(this.session.nextThreadId(), null)
    const origin = here ?? { context: own as Context, frame: null }
    const isUnscoped = here === null
    const calledFrom = isUnscoped ? this.session.reports.origins.of('wait', 'withLock') : null
    const limits = { defaultWaitMs: this.session.options.waitMs, ofCallback: true }
    const call = { bareMethod: null, ...limits, origin, isUnscoped, calledFrom }
    const toTaken = (taken: Obtained): Entered<CompoundHold> => {
      const hold = holdOrThrow(taken)
      return { session: this.session, hold, parts: hold.partsFrom(origin) }
    }
    return whileHeld(await this.obtain(options, call, toTaken), own, callback)
  }

  /**
   * Releases every member regardless of its owner; with `holder`, those that it owns.
   * @returns whether any was held
   * @throws HolderChangedError members are held, but none by `holder`; what `acquire` throws for members that do not reply
   */
  async forceUnlock(options: ForceUnlockOptions = {}): Promise<boolean> {
    const changed: HolderChangedError[] = []
    const freed = await this.ask((member) =>
      member.lock.forceUnlock(options).catch((error: unknown) => {
        if (error instanceof HolderChangedError) {
          changed.push(error)
          return false
        }
        throw error
      }),
    )
    const isFreed = freed.includes(true)
    if (changed[0] && !isFreed) {
      throw changed[0]
    }
    return isFreed
  }

  /**
   * Asks Redis whether enough members are held, by any owners, to keep every other caller from acquiring the lock now.
   * @throws what `acquire` throws for members that do not reply
   */
  async isLocked(): Promise<boolean> {
    const states = await this.ask(({ protocol }) => protocol.inspect())
    const free = states.filter(({ ttlMs }) => ttlMs === -2)
    return free.length < this.rule.needed
  }

  /**
   * Asks Redis whether the caller holds the lock: `getHoldCount` above 0.
   * @throws what `acquire` throws for members that do not reply
   */
  async isHeldByCurrentContext(): Promise<boolean> {
    return (await this.getHoldCount()) > 0
  }

  /**
   * Asks Redis whether a thread of this lock's client holds the lock.
   * @param threadId the `id` of a thread of the client that made this lock
   * @throws InvalidArgumentError; else as `isLocked`
   */
  async isHeldByThread(threadId: number): Promise<boolean> {
    checkThreadId(threadId)
    const owners = new Map(this.members.map((member) => [member, member.heldByThread(threadId)]))
    const counts = await this.countsOf((member) => owners.get(member) ?? [])
    return reachedBy(counts, this.rule.needed) > 0
  }

  /**
   * Asks Redis for the number of levels that the caller holds of enough members; 0: none.
   * @throws what `acquire` throws for members that do not reply
   */
  async getHoldCount(): Promise<number> {
    const levels = this.levelsHere()
    const heldOf = (member: Member): HeldLock[] =>
      levels.filter((level) => level.member === member).map(({ acquisition }) => acquisition)
    return reachedBy(await this.countsOf(heldOf), this.rule.needed)
  }

  /**
   * Asks Redis for the lease that is left on enough members, ms; -2: too few are held, -1: no expiry.
   * @throws what `acquire` throws for members that do not reply
   */
  async remainTimeToLive(): Promise<number> {
    const states = await this.ask(({ protocol }) => protocol.inspect())
    const left = states.map(({ ttlMs }) => (ttlMs === -1 ? Infinity : ttlMs))
    const reached = left.length < this.rule.needed ? -2 : reachedBy(left, this.rule.needed)
    return reached === Infinity ? -1 : reached
  }

  private async obtain<T>(
    options: AcquireOptions,
    { bareMethod, ...request }: CallRequest,
    finish: (obtained: Obtained) => T,
  ): Promise<T> {
    const { session, bare, name } = this
    const onWait = (): void => {
      call.publication?.parked(undefined)
    }
    const call = new CompoundCall(session, { ...request, name, options, onWait })
    session.assertOpen(name)
    const bareCall = bareMethod === null ? null : bare.begin(bareMethod)
    let hold: CompoundHold | null = null
    try {
      const taken = await this.takeOrLeaveNothing(call)
      if (taken instanceof LockTimeoutError) {
        return finish(taken)
      }
      hold = this.holdOf(taken)
      this.begun(hold, call)
      // Each client warns about its own holds.
      taken.forEach(({ member, hold: level }) =>
        member.session.reports.origins.keep(level, request.calledFrom ?? null),
      )
      if (request.origin === null && !bareCall) {
        bare.keep(hold, false)
      }
      return finish(hold)
    } finally {
      bareCall?.end(hold)
    }
  }

  /** Publishes the end of the call when its caller is resumed: after everything it may have acquired is released. */
  private takeOrLeaveNothing(call: CompoundCall): Promise<MemberHold[] | LockTimeoutError> {
    const { name: lockName, kind } = this
    return call.seenAs({ lockName, kind }, () => this.takeThenSettle(call))
  }

  /** No answer but a hold before members are free again, as far as they answer. */
  private async takeThenSettle(call: CompoundCall): Promise<MemberHold[] | LockTimeoutError> {
    let isTaken = false
    try {
      const taken = await this.take(call)
      isTaken = !(taken instanceof LockTimeoutError)
      return taken
    } finally {
      if (!isTaken) {
        await call.whenGivenBack(this.rule.patienceMs)
      }
    }
  }

  private request(
    method: string,
    isRedissonStyle: boolean,
    defaultWaitMs = this.session.options.waitMs,
  ): CallRequest {
    const origin = siteToAcquire(this.session.contexts, this.thread)
    const isUnscoped = origin === null
    const calledFrom = this.session.reports.origin(method)
    const bareMethod = isUnscoped && isRedissonStyle ? method : null
    return { bareMethod, defaultWaitMs, ofCallback: false, origin, isUnscoped, calledFrom }
  }

  private holdOf(levels: readonly MemberHold[]): CompoundHold {
    return new CompoundHold(this.name, levels, this.rule, this.session)
  }

  private ownHold(given: unknown): CompoundHold {
    if (given instanceof CompoundHold && given.isOf(this.members)) {
      return given
    }
    throw notAHoldOf(this.name, given)
  }

  private latestHold(): CompoundHold {
    const origin = siteToRelease(this.session.contexts, this.thread)
    const levels = origin ? this.levelsAt(origin) : []
    if (levels.length >= this.rule.needed) {
      return CompoundHold.of(levels) ?? this.holdOf(levels)
    }
    if (origin?.context.alive === true) {
      const missing = this.members.find((member) => levels.every((level) => level.member !== member))
      const why = whyNoHold(origin.context, missing?.protocol.scope ?? '')
      throw new NotLockOwnerError(missing?.lockName ?? this.name, why)
    }
    return this.bare.take()
  }

  /** The level that this caller has of each member, as far as this process knows. */
  private levelsHere(): readonly MemberHold[] {
    const origin = siteToAcquire(this.session.contexts, this.thread)
    return origin ? this.levelsAt(origin) : (this.bare.current?.levels ?? [])
  }

  private levelsAt(origin: CallSite): MemberHold[] {
    return this.members.flatMap((member) => member.heldFrom(origin) ?? [])
  }

  /** How many levels Redis has of these owners, by member. */
  private countsOf(heldOf: (member: Member) => readonly HeldLock[]): Promise<number[]> {
    return this.ask(async (member) => {
      const fields = heldOf(member).map(({ field }) => field)
      const holds = fields.length > 0 ? (await member.protocol.inspect()).holds : null
      return Math.max(0, ...fields.map((field) => (holds && field.find(holds)) ?? 0))
    })
  }

  private async ask<T>(question: (member: Member) => Promise<T>): Promise<T[]> {
    const asked = this.members.map((member) => ({ member, answer: question(member) }))
    const { values, failures } = await gather(asked, this.rule, this.session.runtime)
    if (values.length < this.rule.needed) {
      throw this.rule.tooFew(failures)
    }
    return values
  }
}

showsOnly(CompoundLock, ['name'])

function holdOrThrow(obtained: Obtained): CompoundHold {
  if (obtained instanceof LockTimeoutError) {
    throw obtained
  }
  return obtained
}

function holdOrNull(obtained: Obtained): CompoundHold | null {
  return obtained instanceof LockTimeoutError ? null : obtained
}

function isHeld(obtained: Obtained): boolean {
  return obtained instanceof CompoundHold
}
