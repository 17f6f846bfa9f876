import type { AcquireRequest } from '../acquire/acquire-call.js'
import type { AcquireOptions } from '../acquire/acquire-options.js'
import { Context, type CallSite } from '../context/context.js'
import { siteToRelease } from '../context/ambient.js'
import { HolderChangedError, LockTimeoutError, NotLockOwnerError } from '../errors.js'
import { AnyLock, holdOrThrow, type Finish, type ForceUnlockOptions } from '../locks/any-lock.js'
import { notAHoldOf, whyNoHold } from '../locks/unlock.js'
import { whileHeld } from '../locks/while-held.js'
import type { FieldNames } from '../hold.js'
import type { LockServices } from '../locks/services.js'
import { checkCallback } from '../arguments/validate.js'
import { CompoundCall, type CompoundRequest } from './compound-call.js'
import { CompoundHold } from './compound-hold.js'
import { gather, reachedBy, type CompoundRule } from './compound-rule.js'
import type { Member, MemberHold } from './member.js'

const OF_CALLBACK = { unscoped: null, byHand: null }

/**
 * Several locks acquired as one. The contexts of the client that made it apply: inside one, every member is
 * re-entered, also members of other clients.
 */
export abstract class CompoundLock extends AnyLock<CompoundHold> {
  /** @internal */
  protected abstract readonly rule: CompoundRule
  /** @internal */
  protected abstract readonly kind: 'multi' | 'red'

  /** @internal Created by a client. */
  constructor(
    session: LockServices,
    /** @internal */
    protected readonly members: readonly Member[],
    thread: CallSite | null,
  ) {
    super(session, [...new Set(members.map(({ lockName }) => lockName))].join(', '), thread)
  }

  /** @internal Acquires enough members, or none. @returns an error when another owner holds too many */
  protected abstract takeMembers(call: CompoundCall): Promise<MemberHold[] | LockTimeoutError>

  /** @internal A call has taken the lock. */
  protected abstract begun(hold: CompoundHold, call: CompoundCall): void

  async withLock<T>(
    callback: (hold: CompoundHold) => Promise<T> | T,
    options: AcquireOptions = {},
  ): Promise<T> {
    checkCallback(callback)
    const { session } = this
    const around = this.site()
    const own = around ? null : new Context(session.nextThreadId(), null)
    const site = around ?? { context: own as Context, frame: null }
    const isUnscoped = around === null
    const calledFrom = isUnscoped ? session.reports.origins.of('wait', 'withLock') : null
    const limits = { options, defaultWaitMs: session.options.waitMs, ofCallback: true }
    const hold = await this.call({ ...limits, site, isUnscoped, calledFrom }, holdOrThrow)
    return whileHeld({ session, hold, parts: hold.partsFrom(site) }, own, callback)
  }

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

  async isLocked(): Promise<boolean> {
    const states = await this.ask(({ protocol }) => protocol.inspect())
    const free = states.filter(({ ttlMs }) => ttlMs === -2)
    return free.length < this.rule.needed
  }

  async getHoldCount(): Promise<number> {
    const levels = this.levelsHere()
    const fieldsOf = (member: Member): FieldNames[] =>
      levels.filter((level) => level.member === member).map(({ acquisition }) => acquisition.field)
    return reachedBy(await this.countsOf(fieldsOf), this.rule.needed)
  }

  async remainTimeToLive(): Promise<number> {
    const states = await this.ask(({ protocol }) => protocol.inspect())
    const left = states.map(({ ttlMs }) => (ttlMs === -1 ? Infinity : ttlMs))
    const reached = left.length < this.rule.needed ? -2 : reachedBy(left, this.rule.needed)
    return reached === Infinity ? -1 : reached
  }

  /** @internal */
  protected take<T>(request: AcquireRequest<CompoundHold>, finish: Finish<CompoundHold, T>): Promise<T> {
    const { unscoped, byHand, ...rest } = request
    return this.call({ ...rest, isUnscoped: request.site === null }, finish, { unscoped, byHand })
  }

  /** @internal */
  protected ownHold(given: unknown): CompoundHold {
    if (given instanceof CompoundHold && given.isOf(this.members)) {
      return given
    }
    throw notAHoldOf(this.name, given)
  }

  /** @internal */
  protected latestHold(): CompoundHold {
    const site = siteToRelease(this.session.contexts, this.thread)
    const levels = site ? this.levelsAt(site) : []
    if (levels.length >= this.rule.needed) {
      return CompoundHold.of(levels) ?? this.holdOf(levels)
    }
    if (site?.context.alive === true) {
      const missing = this.members.find((member) => levels.every((level) => level.member !== member))
      const why = whyNoHold(site.context, missing?.protocol.scope ?? '')
      throw new NotLockOwnerError(missing?.lockName ?? this.name, why)
    }
    return this.bare.take()
  }

  /** @internal */
  protected async countOfThread(threadId: number): Promise<number> {
    const fields = new Map(this.members.map((member) => [member, member.fieldsOfThread(threadId)]))
    const counts = await this.countsOf((member) => fields.get(member) ?? [])
    return reachedBy(counts, this.rule.needed)
  }

  private async call<T>(
    request: Omit<CompoundRequest, 'name'>,
    finish: Finish<CompoundHold, T>,
    { unscoped, byHand }: Pick<AcquireRequest<CompoundHold>, 'unscoped' | 'byHand'> = OF_CALLBACK,
  ): Promise<T> {
    const { session, name } = this
    const call = new CompoundCall(session, { ...request, name })
    session.assertOpen(name)
    if (byHand !== null) {
      unscoped?.begin(byHand)
    }
    let hold: CompoundHold | null = null
    try {
      // The end of the call is published when its caller is resumed: after everything it may have acquired is released.
      const wanted = { lockName: name, kind: this.kind }
      const taken = await call.seenAs(wanted, () => this.takeOrLeaveNothing(call))
      if (taken instanceof LockTimeoutError) {
        return finish({ kind: 'busy', error: () => taken })
      }
      hold = this.holdOf(taken)
      this.begun(hold, call)
      // Each client warns about its own holds.
      taken.forEach(({ member, hold: level }) =>
        member.session.reports.origins.keep(level, request.calledFrom ?? null),
      )
      return finish({ kind: 'held', hold })
    } finally {
      unscoped?.end(hold, byHand !== null)
    }
  }

  /** No answer but a hold before members are free again, as far as they answer. */
  private async takeOrLeaveNothing(call: CompoundCall): Promise<MemberHold[] | LockTimeoutError> {
    let isTaken = false
    try {
      const taken = await this.takeMembers(call)
      isTaken = !(taken instanceof LockTimeoutError)
      return taken
    } finally {
      if (!isTaken) {
        await call.whenUndone(this.rule.patienceMs)
      }
    }
  }

  private holdOf(levels: readonly MemberHold[]): CompoundHold {
    return new CompoundHold(this.name, levels, this.rule, this.session)
  }

  /** The level that this caller has of each member, as far as this process knows. */
  private levelsHere(): readonly MemberHold[] {
    const site = this.site()
    return site ? this.levelsAt(site) : (this.bare.current?.levels ?? [])
  }

  private levelsAt(site: CallSite): MemberHold[] {
    return this.members.flatMap((member) => member.heldFrom(site) ?? [])
  }

  /** How many levels Redis has in these fields, by member. */
  private countsOf(fieldsOf: (member: Member) => readonly FieldNames[]): Promise<number[]> {
    return this.ask(async (member) => {
      const fields = fieldsOf(member)
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
