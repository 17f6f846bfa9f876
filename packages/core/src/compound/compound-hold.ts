import type { CallSite } from '../context/context.js'
import type { LockLostError } from '../errors.js'
import {
  LockHold,
  refuseIfShared,
  sent,
  waitsForReply,
  type Hold,
  type ReleaseOptions,
  type ReleaseOutcome,
} from '../hold.js'
import { refuseReleased } from '../arguments/released.js'
import type { WhenWritten } from '../runtime/release-waits.js'
import type { LockServices } from '../locks/services.js'
import { checkGivenLease } from '../arguments/validate.js'
import type { HeldPart } from '../locks/while-held.js'
import { enough, gather, reachedBy, type CompoundRule, type MemberFailure } from './compound-rule.js'
import { inOrderOf, together, type Member, type MemberHold } from './member.js'
import { showsOnly } from '../runtime/shows-only.js'

const compoundOf = new WeakMap<Hold, CompoundHold>()

/**
 * A hold of several locks at once: all members of a multi lock, or a majority of a RedLock's. It is lost when
 * too few of its members' holds are left.
 */
export class CompoundHold extends LockHold {
  private isReleased = false
  private isShortened = false
  private loss: LockLostError | null = null
  private controller: AbortController | null = null
  private stopListening: (() => void)[] = []
  private current: readonly MemberHold[]
  /** The frames that a callback runs in; null for a hold by hand. */
  private parts: ReadonlyMap<Member, HeldPart> | null = null
  /** The owner of the first of the first `holds`; each member has an owner of its own. */
  readonly owner: string

  /** @internal Created by a lock. */
  constructor(
    readonly lockName: string,
    levels: readonly MemberHold[],
    private readonly rule: CompoundRule,
    private readonly session: LockServices,
  ) {
    super()
    this.current = levels
    this.owner = levels[0]?.hold.owner ?? ''
    levels.forEach(({ hold }) => compoundOf.set(hold, this))
  }

  /** @internal One level of each member that is held, or was lost and not taken again. */
  get levels(): readonly MemberHold[] {
    return this.current
  }

  /** @internal */
  get isOver(): boolean {
    return this.isReleased || this.isLost
  }

  /**
   * @internal Whether a member may join. What is called inside a `withLock` re-enters what the callback began with: a
   * member that was not taken then has no frame there, and would be waited for by its own holder.
   */
  mayJoin(member: Member): boolean {
    return this.parts === null || this.parts.has(member)
  }

  /** @internal Forgets a level that was lost, while enough others are held. */
  drop(level: MemberHold): void {
    if (!this.isOver && level.hold.lossError) {
      this.current = this.current.filter((each) => each !== level)
    }
  }

  /**
   * @internal Adds a member while enough others are held and trusted at this moment. Levels that are lost never come
   * back, so enough of them have been held all the time since the lock was taken: a vote that joins prolongs nothing
   * that had ended (I1). @returns false: the caller releases it
   */
  join(level: MemberHold, members: readonly Member[]): boolean {
    const isKnown = this.current.some(({ member }) => member === level.member)
    if (this.isOver || this.isShortened || isKnown || level.hold.lossError || this.trustedForMs === 0) {
      return false
    }
    this.current = inOrderOf(members, [...this.current, level])
    this.moveInto(level)
    compoundOf.set(level.hold, this)
    if (this.controller) {
      this.stopListening.push(level.acquisition.lease.loss.onSet(() => this.abortIfLost(this.controller)))
    }
    return true
  }

  /** @internal The hold that was made of exactly these levels. */
  static of(levels: readonly MemberHold[]): CompoundHold | undefined {
    const [first] = levels
    const compound = first && compoundOf.get(first.hold)
    const isWhole = compound?.levels.length === levels.length
    return isWhole && levels.every(({ hold }) => compoundOf.get(hold) === compound) ? compound : undefined
  }

  /** @internal Whether a lock of these members granted it. */
  isOf(members: readonly Member[]): boolean {
    return this.levels.every(({ hold }) =>
      members.some(({ session, protocol }) => hold.isOf(session, protocol.scope)),
    )
  }

  /** A call of the callback re-enters the level that joined. */
  private moveInto({ member, acquisition }: MemberHold): void {
    const part = this.parts?.get(member)
    if (part) {
      part.acquisition = acquisition
      if (part.frame) {
        part.frame.acquisition = acquisition
      }
    }
  }

  /** The members' holds, in the order of the members. */
  get holds(): readonly Hold[] {
    return this.levels.map(({ hold }) => hold)
  }

  /** @internal The acquisitions that a callback runs under when called from `origin`. */
  partsFrom(origin: CallSite): HeldPart[] {
    const parts = this.levels.map(({ member, acquisition, siblingMutex }): [Member, HeldPart] => {
      const site = member.siteFrom(origin) ?? origin
      return [member, { session: member.session, acquisition, siblingMutex, site }]
    })
    this.parts = new Map(parts)
    return [...this.parts.values()]
  }

  /** Levels this caller holds of enough members. */
  get count(): number {
    return this.reached(({ hold }) => hold.count)
  }

  /**
   * Aborts with the LockLostError of a member as soon as too few are held, before another owner can acquire the lock.
   * See `Hold.signal`.
   */
  get signal(): AbortSignal {
    this.controller ??= this.listen()
    return this.controller.signal
  }

  /** How long, in ms, the caller may act as the owner without asking Redis again; 0 when it may not. */
  get trustedForMs(): number {
    return this.isReleased ? 0 : this.reached(({ hold }) => hold.trustedForMs)
  }

  /** Why the hold was lost: the error of the member whose loss left too few. Null while it is not. */
  get lossError(): LockLostError | null {
    const errors = this.levels.flatMap(({ hold }) => hold.lossError ?? [])
    if (this.levels.length - errors.length < this.rule.needed) {
      this.loss ??= errors.at(-1) ?? null
    }
    return this.loss
  }

  /** Whether this level was released. */
  get wasReleased(): boolean {
    return this.isReleased || this.levels.every(({ hold }) => hold.wasReleased)
  }

  /**
   * Asks Redis about all members at once, in one round trip. Call it right before the critical write.
   * @throws LockLostError, NotLockOwnerError, and what `acquire` throws for members that do not reply
   */
  verify(): Promise<void> {
    return this.ofEnough((hold) => hold.verify())
  }

  /** Makes the lease of every member last at least `ms` from now; never shortens it. @throws as `verify` */
  async extend(ms: number): Promise<void> {
    checkGivenLease('ms', ms)
    await this.ofEnough((hold) => hold.extend(ms))
  }

  /**
   * Makes the lease of every member end at most `ms` from now, and ends their renewal. Without the replies of enough members
   * trust ends by then all the same. See `Hold.shorten`.
   * @throws InvalidArgumentError also when the owner has further levels; else as `verify`
   */
  async shorten(ms: number): Promise<void> {
    checkGivenLease('ms', ms)
    refuseIfShared(this.count)
    this.isShortened = true
    await this.ofEnough((hold) => hold.shorten(ms))
  }

  /**
   * Releases this level of every member, all at once, and waits for the replies.
   * @returns 'lost': too few members were still held; 'still-held': enough have further levels
   * @throws RedisUnavailableError, QuorumError too few members replied; the release is retried in the background
   */
  release(): Promise<ReleaseOutcome>
  release(options: ReleaseOptions): Promise<ReleaseOutcome | 'sent'>
  async release(options?: ReleaseOptions): Promise<ReleaseOutcome | 'sent'> {
    if (options !== undefined && !waitsForReply(options)) {
      return sent(this)
    }
    if (this.isReleased) {
      return 'already-released'
    }
    this.isReleased = true
    const releases = together(
      this.levels.map(({ member }) => member),
      () => this.levels.map(({ member, hold }) => ({ member, answer: hold.release() })),
    )
    releases.forEach(({ member, answer }) => member.session.background.run(answer))
    const { values, failures } = await gather(releases, this.rule, this.session.runtime)
    this.stopListening.splice(0).forEach((stop) => stop())
    return this.conclude(values, failures)
  }

  /** @internal Tells once every member's release was written. */
  get whenWritten(): WhenWritten | null {
    if (this.isReleased || this.isLost) {
      return null
    }
    const all = this.levels.map(({ hold }) => hold.whenWritten)
    return all.every((each) => each !== null) ? ofAll(all) : null
  }

  /** @internal */
  protected leave(): Promise<ReleaseOutcome | null> {
    return this.session.releaseWaits.leave<ReleaseOutcome>(this)
  }

  private conclude(outcomes: readonly ReleaseOutcome[], failures: readonly MemberFailure[]): ReleaseOutcome {
    const count = (...wanted: ReleaseOutcome[]): number =>
      outcomes.filter((each) => wanted.includes(each)).length
    const { needed } = this.rule
    if (count('already-released') === this.levels.length) {
      return 'already-released'
    }
    if (this.isLost) {
      return 'lost'
    }
    if (count('released', 'still-held', 'already-released') < needed) {
      throw this.rule.tooFew(failures)
    }
    return count('still-held') >= needed ? 'still-held' : 'released'
  }

  private async ofEnough(ask: (hold: Hold) => Promise<void>): Promise<void> {
    refuseReleased(this)
    this.throwIfLost()
    try {
      const asked = this.levels.map(({ member, hold }) => ({ member, answer: ask(hold) }))
      await enough(asked, this.rule)
    } catch (error) {
      this.throwIfLost()
      throw error
    }
  }

  private reached(valueOf: (level: MemberHold) => number): number {
    return reachedBy(this.levels.map(valueOf), this.rule.needed)
  }

  /** Listens to the losses directly: to follow signals would create one per member, and keep this hold in memory. */
  private listen(): AbortController {
    const controller = new AbortController()
    const look = (): void => this.abortIfLost(controller)
    this.stopListening = this.levels.map(({ acquisition }) => acquisition.lease.loss.onSet(look))
    look()
    return controller
  }

  private abortIfLost(controller: AbortController | null): void {
    if (this.isLost) {
      controller?.abort(this.lossError)
    }
  }

  private throwIfLost(): void {
    if (this.lossError) {
      throw this.lossError
    }
  }
}

showsOnly(CompoundHold, ['lockName', 'owner', 'trustedForMs'])

function ofAll(all: readonly WhenWritten[]): WhenWritten {
  return (tell) => {
    let open = all.length
    let areWritten = true
    for (const each of all) {
      each((isWritten) => {
        open -= 1
        areWritten &&= isWritten
        if (open === 0) {
          tell(areWritten)
        }
      })
    }
  }
}
