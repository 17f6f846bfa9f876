import type { Answer } from '@holdfast/waiter'
import { trustedUntil, type Grant, type RenewableLease, type Watch } from '@holdfast/watchdog'
import {
  enclosing,
  newSiblingMutex,
  type Context,
  type Enclosing,
  type CallSite,
  type Reenterable,
  type SiblingMutex,
} from '../context.js'
import { publishHold, type HoldPublication } from '../diagnostics/hold-publication.js'
import { LockLostError, type LossReason } from '../errors.js'
import type { PushedGrant } from '../queue/grants.js'
import type { HeldLock } from '../client/held-locks.js'
import { type Hold, type HoldOwner, Loss } from '../hold.js'
import { confirmGrantSoon } from '../entry/confirmation.js'
import type { ReentryRule, ReleaseObserver } from '../entry/entry-command.js'
import type { LockKind } from '../diagnostics/messages.js'
import type { LockProtocol } from '../protocols/lock-protocol.js'
import { Levels, type LevelRequest } from './levels.js'
import { extendLease, isWellTrusted, verifyLease } from '../entry/lease.js'
import { OwnerCommands } from '../entry/owner-commands.js'
import type { OwnerField } from '../entry/owner-field.js'
import { RELEASED } from '../runtime/release-waits.js'
import { Handover, type HandedOverHold, type HandoverHolder } from '../entry/handover.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import { reportFailedRelease, reportFailedRenewal, reportLoss } from '../diagnostics/reports.js'
import type { AcquireReply, ReleaseReply, NoteRequest } from '../scripts/lock.js'
import type { Session } from '../client/session.js'

/** A call for several locks, as one of its parts sees it. */
export interface WholeCall {
  /** What a part may have in Redis, although its caller has left, is being given back. */
  givesBack(work: Promise<unknown>): void
}

type Outcome = 'released' | 'still-held' | 'lost'
type Released = Promise<Outcome>

const STILL_HELD: Released = Promise.resolve('still-held')
const LOST: Released = Promise.resolve('lost')

/*
 * Re-entry without a round trip (option `localReentry`). Levels are added and given back in memory; the count in Redis
 * follows once a tick. What could go wrong, and what holds:
 *
 * - The lock is gone, and nobody here knows yet: as for any hold between two answers. The count finds nothing to
 *   follow to, and every level is told. So trust is looked at first, and a round trip is made where little is left.
 * - The count has no answer: it is absolute, and is written again until it has one (I2).
 * - The last level is released while the count is on its way: the release waits for its turn, and deletes whatever
 *   count there is.
 * - The lock is passed on while the count is behind: it is not; that needs a count of one, for certain.
 */

/**
 * One outermost acquisition of one lock by one context, from its first try to its last release.
 *
 *   trying ──acquired──► held(1) ◄──re-enter / release──► held(n)
 *      │                   │  │
 *      │ caller gone       │  └── last release begins ──► released     renewal stops before the command is sent
 *      ▼                   └── expired, gone, forced ───► lost         every level's signal aborts
 *   given back
 *
 * The last release may pass the lock on to an acquisition that waits here: `trying ──taken over──► held(1)`, and what
 * is in Redis goes on under its name.
 *
 * Its thread id is fresh, so a copy of one of its commands that arrives after it ended matches nothing.
 */
export class Acquisition
  implements RenewableLease, Reenterable, HeldLock, HoldOwner, HandoverHolder, ReleaseObserver<Outcome>
{
  readonly owner: string
  /** Its own, or those of the acquisition that passed the lock on to it. */
  commands: OwnerCommands
  handover: Handover | null = null
  /** That the hold shall have, when it is named in Redis. */
  note: NoteRequest | undefined = undefined
  readonly levels = new Levels()
  watch: Watch | null = null
  /** When it was passed on or given to it, monotonic ms. */
  private handedOverAt = 0
  private released = false
  /** Levels were added or given back here that Redis has not heard of. */
  private countIsBehind = false
  /** A message said that it was released by force. What Redis answered tells whether it was: see `onLost`. */
  private isSaidForced = false
  readonly loss = new Loss()
  private context: Context | null = null
  private siblings: SiblingMutex | null = null
  publication: HoldPublication | null = null

  constructor(
    readonly session: Session,
    readonly protocol: LockProtocol,
    /** The logical thread it belongs to; null outside any context. */
    readonly thread: Context | null,
    readonly rule: ReentryRule,
  ) {
    this.owner = protocol.ownerOf(session.nextThreadId())
    this.commands = new OwnerCommands(session, protocol, this.owner)
  }

  /** From now on its context re-enters it, siblings that wait for it included. */
  keepIn(context: Context | null): void {
    this.context = context
    context?.keep(this)
  }

  get key(): string {
    return this.protocol.key
  }

  get scope(): string {
    return this.protocol.scope
  }

  get shared(): boolean {
    return this.protocol.shared
  }

  get lockName(): string {
    return this.protocol.lockName
  }

  get kind(): LockKind {
    return this.protocol.kind
  }

  get token(): string | undefined {
    return this.commands.token
  }

  get replicas(): number | undefined {
    return this.commands.replicas
  }

  get levelCount(): number {
    return this.levels.count
  }

  get lossByNow(): Loss {
    this.session.watchdog.endOverdueTrust()
    return this.loss
  }

  /** What stands for it in Redis. */
  get field(): OwnerField {
    return this.commands.field
  }

  /** What a renewal sets, ms. */
  get ttlMs(): number {
    return this.session.options.lockWatchdogTimeout
  }

  /** The turn that siblings take in the context that holds it. */
  get siblingMutex(): SiblingMutex {
    this.siblings ??= newSiblingMutex()
    return this.siblings
  }

  get isReleased(): boolean {
    return this.released
  }

  get isOver(): boolean {
    return this.released || this.loss.error !== null
  }

  get trustedForMs(): number {
    return this.isOver || !this.watch ? 0 : this.watch.trustedForMs
  }

  /** One try to take the lock for a first hold. */
  tryFirst<T>(request: LevelRequest, handler: ReplyHandler<AcquireReply, T>): Answer<T> {
    const { leaseMs = this.ttlMs, waitMs, note } = request
    const terms = { leaseMs, waits: waitMs !== 0, rule: this.rule, note }
    return this.commands.acquireFirst(terms, handler)
  }

  /**
   * Makes a successful first try a hold. Null when the lease was used up before anybody could have used it (the
   * process was paused between sending and now): the caller gives it back.
   */
  begin(request: LevelRequest): Hold | null {
    if (this.watch) {
      // Passed on or given to it. Lost since then: as if it had come too late.
      return this.isOver ? null : this.beHeld(request, this.handedOverAt)
    }
    const now = this.session.clock.now()
    const ttlMs = request.leaseMs ?? this.ttlMs
    const sentAt = this.commands.grantedAt
    if (now >= trustedUntil(sentAt, ttlMs)) {
      return null
    }
    this.handover = this.protocol.handover && new Handover(this, now)
    this.watch = this.watchLease({ sentAt, ttlMs, renew: request.leaseMs === undefined }, sentAt)
    return this.beHeld(request, now)
  }

  /** Not before its caller is resumed: exporters ask what is active then, and a lock is handed over by somebody else. */
  private beHeld(request: LevelRequest, since: number): Hold {
    this.publication = publishHold(this.session, this, since)
    return this.levels.add(this, request)
  }

  /** The lock is passed on to it, and with it what there is in Redis. @returns false: it takes it in Redis */
  takeOver(
    { handover, passedAt, sentAt, ttlMs, renew, end }: HandedOverHold,
    { note }: LevelRequest,
  ): boolean {
    const isFree = handover.isAlongRedisQueue ? this.commands.isOnlyInLine : this.commands.isUntouched
    if (!isFree) {
      return false
    }
    end()
    this.note = note
    this.handover = handover
    this.commands = handover.commands
    this.handedOverAt = passedAt
    this.watch = this.watchLease({ sentAt, ttlMs, renew }, passedAt)
    handover.handOverTo(this)
    return true
  }

  /** Redis gave it the lock while it waited. @returns false: it asks Redis */
  takeGrant({ sentAt, ttlMs, behind }: PushedGrant, request: LevelRequest): boolean {
    const { commands, session } = this
    if (!commands.isWaiting) {
      return false
    }
    const now = session.clock.now()
    const watch = this.watchLease({ sentAt, ttlMs, renew: false }, now)
    if (watch.trustedForMs === 0) {
      // Since that life began the machine was suspended, or another primary took over.
      watch.stop()
      session.held.remove(this)
      return false
    }
    commands.given()
    commands.noteLease(sentAt, ttlMs)
    this.watch = watch
    this.handedOverAt = now
    this.handover = this.protocol.handover && new Handover(this, now, ttlMs, behind)
    confirmGrantSoon(this, this.handover, request)
    return true
  }

  /**
   * One try to add a level. Null: the last level was released meanwhile, so there is nothing to re-enter, or the
   * caller has left. A level of a caller that has left is never added: it would be there still when the others of
   * this owner give back theirs, and the last of them would be told that the lock is still held (I2).
   * @throws LockLostError the lock is gone, and with it every level
   */
  tryReenter(request: LevelRequest, hasLeft: () => boolean): Promise<Hold | null> {
    if (request.leaseMs === undefined && this.reentersLocally) {
      this.followCountSoon()
      return Promise.resolve(this.levels.add(this, request))
    }
    return this.commands.runExclusive(async () => {
      this.loss.throwIfSet()
      if (this.released || hasLeft()) {
        return null
      }
      const { leaseMs = this.ttlMs, note } = request
      const terms = { leaseMs, waits: false, rule: this.rule, note }
      const reply = await this.commands.acquire(this.levels.count + 1, terms)
      if (reply.kind !== 'acquired') {
        this.lose('gone')
      }
      this.loss.throwIfSet()
      this.watch?.confirm(this.commands.grantedAt, leaseMs)
      if (request.leaseMs === undefined && !hasLeft()) {
        this.watch?.setRenewing(true)
      }
      return hasLeft() ? null : this.levels.add(this, request)
    })
  }

  /** What Redis keeps of the lease, ms, -1 when it has no end; null when this owner does not have the lock. */
  remaining(timeoutMs?: number): Promise<number | null> {
    return this.protocol.remaining(this.commands.field, timeoutMs)
  }

  /**
   * A caller has gone, or a command had no answer: whatever a late or unanswered one may have done in Redis is
   * undone, in the background.
   * @param whole the call for several locks that it was a part of: it may answer its own caller when that is done
   */
  giveBack(whole?: WholeCall): void {
    if (!this.commands.hasNothingInRedis && !this.commands.isGivenUp) {
      const work = this.writeInBackground(this.levels)
      whole?.givesBack(work)
    }
  }

  /** The client closes over it: every level is over first, and only then is the lock given back. */
  async releaseOnClose(): Promise<void> {
    this.lose('closed')
    const { commands, session } = this
    await commands
      .runExclusive(() => commands.releaseUntilKnown({ count: 0 }, session.options.commandTimeout))
      .catch((error: unknown) => reportFailedRelease(session, this, error))
  }

  /** Every level is over, as soon as this client can know. */
  lose(reason: LossReason): void {
    if (this.loss.error) {
      return
    }
    const { watch, levels, lockName, owner } = this
    watch?.stop()
    const end =
      watch && reason === 'expired'
        ? this.loss.endOfLease(watch, this.session.clock.now(), levels.anyWatched)
        : {}
    const error = new LockLostError({ lockName, owner, reason, ...end })
    this.session.held.remove(this)
    this.loss.set(error)
    reportLoss(this.session, this, error)
    this.publication?.lost(reason, this.session.clock.now())
    if (reason === 'expired' || reason === 'forced' || this.commands.field.wasPassedOn) {
      // Redis may still have it: a renewal it never answered may have prolonged it by a whole lease, and what was on its
      // way when the lock was taken away may have taken it anew. Or it has, or had, in line whom the lock was passed on
      // to, and would give, or has given, it to them.
      void this.writeInBackground({ count: 0 })
    }
  }

  /**
   * A message says that it was released by force. Whoever may publish can say so: nothing is trusted from now on, Redis is
   * asked, and its answer alone ends the hold.
   */
  doubtForced(): void {
    this.isSaidForced = true
    this.watch?.doubt()
  }

  onLost(why: 'expired' | 'refused'): void {
    const wasForced = this.isSaidForced && this.watch?.suspect === true
    this.lose(why === 'expired' ? why : wasForced ? 'forced' : 'gone')
  }

  onRenewalAnswered(): void {
    this.commands.transactionIsOver()
  }

  onRenewalFailed(error: unknown): void {
    this.loss.renewalFailed(error, this.session.clock.now())
    reportFailedRenewal(this.session, this, error)
  }

  private writeInBackground(levels: { readonly count: number }): Promise<unknown> {
    const { commands, session } = this
    const work = commands
      .runExclusive(() => commands.releaseUntilKnown(levels, Number.POSITIVE_INFINITY))
      .catch((error: unknown) => reportFailedRelease(session, this, error))
    session.background.run(work)
    return work
  }

  verify(): Promise<void> {
    return verifyLease(this)
  }

  extend(leaseMs: number): Promise<void> {
    this.session.lastHolders.noteLease(leaseMs)
    return extendLease(this, leaseMs)
  }

  /** Gives back one level. @throws RedisUnavailableError nobody answered; it is tried on in the background */
  release(hold: Hold): Released {
    if (this.levels.count > 1 && this.reentersLocally) {
      this.end(hold)
      this.followCountSoon()
      return STILL_HELD
    }
    return this.passOn(hold) ? RELEASED : this.releaseInRedis(hold)
  }

  /** The last level of a renewed lock may go to the next in line here, past Redis. */
  private passOn(hold: Hold): boolean {
    const { handover, watch, levels } = this
    if (!handover?.isWanted || !watch || levels.count !== 1 || !hold.watched) {
      return false
    }
    return handover.offer(watch, () => {
      this.end(hold)
      this.publication?.ended('released')
    })
  }

  private releaseInRedis(hold: Hold): Released {
    const turn = this.commands.takeTurn()
    return turn ? turn.then(() => this.releaseNow(hold)) : this.releaseNow(hold)
  }

  /** In its turn, which ends with the answer. */
  private releaseNow(hold: Hold): Released {
    const { commands, levels, session } = this
    const startedAt = session.clock.now()
    this.end(hold, startedAt)
    if (this.loss.error) {
      commands.passTurn()
      return LOST
    }
    if (this.released) {
      this.handover?.beginToEnd()
    }
    const limit = { limitMs: session.options.unavailableTimeoutMs, startedAt }
    return commands.release({ levels, limit }, this)
  }

  /** Of a release that has its turn, which ends with that. */
  onReleased(reply: ReleaseReply): Outcome {
    try {
      this.handover?.ended(reply)
      if (reply.kind === 'not-held') {
        this.lose('gone')
        return 'lost'
      }
      if (!this.released) {
        return 'still-held'
      }
      this.publication?.ended('released')
      return 'released'
    } finally {
      this.commands.passTurn()
    }
  }

  onReleaseFailed(error: unknown): never {
    this.giveBack()
    if (this.released) {
      this.publication?.ended('unknown')
    }
    this.commands.passTurn()
    throw error
  }

  /** Whether a level may be had, or given back, without asking Redis. */
  private get reentersLocally(): boolean {
    const { protocol, watch, ttlMs } = this
    return (
      protocol.reentersLocally &&
      !this.isOver &&
      watch?.renewing === true &&
      isWellTrusted(watch.trustedForMs, ttlMs)
    )
  }

  /** Lets the count in Redis follow that of the levels: once for all of a tick. */
  private followCountSoon(): void {
    if (!this.countIsBehind) {
      this.countIsBehind = true
      this.session.runtime.afterTurn(() => this.session.background.run(this.followCount()))
    }
  }

  private async followCount(): Promise<void> {
    const { commands, levels } = this
    try {
      const reply = await commands.runExclusive(() => {
        this.countIsBehind = false
        return this.isOver
          ? Promise.resolve(null)
          : commands.releaseUntilKnown(levels, Number.POSITIVE_INFINITY)
      })
      if (reply?.kind === 'not-held') {
        this.lose('gone')
      }
    } catch {
      // Every lease must have ended by then, and with it the trust in the hold.
    }
  }

  /** From now on this client has it, since then (monotonic ms). */
  private watchLease(grant: Grant, since: number): Watch {
    const { watchdog, held, options } = this.session
    const { maxHoldMs } = options
    const limited =
      maxHoldMs === undefined ? grant : { ...grant, renewForMs: since - grant.sentAt + maxHoldMs }
    const watch = watchdog.watch(this, limited)
    held.add(this)
    return watch
  }

  /**
   * Renewal ends before the command is sent, whatever its outcome: no renewal can outlive the last hold.
   * @param now where the caller has read the clock
   */
  private end(hold: Hold, now?: number): void {
    this.levels.remove(hold)
    if (this.levels.count > 0) {
      if (!this.levels.anyWatched) {
        this.watch?.setRenewing(false)
      }
      return
    }
    this.released = true
    this.watch?.stop()
    this.session.held.remove(this)
    this.context?.forget(this)
    this.publication?.over(now ?? this.session.clock.now())
  }
}

export interface EnclosingAcquisition extends Enclosing {
  readonly acquisition: Acquisition
}

/** The nearest acquisition of a lock around a place. Nothing but an acquisition is ever put into a context. */
export function enclosingAcquisition(place: CallSite, scope: string): EnclosingAcquisition | undefined {
  return enclosing(place, scope) as EnclosingAcquisition | undefined
}
