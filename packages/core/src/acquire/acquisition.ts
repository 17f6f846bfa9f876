import type { Answer } from '@holdfast/waiter'
import { trustedUntil } from '@holdfast/watchdog'
import { HeldLease, type LeaseOwner } from './held-lease.js'
import {
  ENDED,
  IDLE,
  isRenewedFor,
  latestOf,
  longestRenewal,
  NOT_YET,
  stayBehind,
  type LevelRequest,
  type Levels,
} from './levels.js'
import type { Context, Reenterable } from '../context/context.js'
import type { HoldPublication } from '../diagnostics/hold-publication.js'
import { reportFailedRelease } from '../diagnostics/reports.js'
import type { AcquireTerms, ReentryRule, ReleaseObserver, RemainingLevels } from '../entry/entry-commands.js'
import type { FieldName } from '../entry/field-name.js'
import type { GrantExtras } from '../entry/entry-state.js'
import { LockEntry, type Holder } from '../entry/lock-entry.js'
import type { HeldLock } from '../client/held-locks.js'
import { LocalPass, passesForMs, type PassedHold } from '../pass/local-pass.js'
import { confirmGrantSoon } from '../pass/confirm-grant.js'
import type { LossReason } from '../errors.js'
import { Hold, refuseIfShared, type HoldOwner } from '../hold.js'
import type { LockProtocol } from '../kinds/lock-protocol.js'
import type { PushedGrant } from '../pass/grants.js'
import { RELEASED, type WhenWritten } from '../runtime/release-waits.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import type { AcquireReply } from '../scripts/acquire-reply.js'
import type { ReleaseReply } from '../scripts/lock.js'
import type { AcquireServices } from './services.js'

type Outcome = 'released' | 'still-held' | 'lost'

/** Whoever wants the lock. */
interface Asker {
  /** The logical thread that the lock is to belong to; null outside any context. */
  readonly thread: Context | null
  readonly rule: ReentryRule
  /** That of the call, for a lock that is passed on to it. */
  readonly note?: LevelRequest['note']
}

const STILL_HELD: Promise<Outcome> = Promise.resolve('still-held')
const NO_LEVEL_LEFT: RemainingLevels = { levelCount: 0 }

/**
 * One outermost acquisition of one lock by one context, from its first try to its last release.
 *
 *   trying ──acquired──► held(1) ◄──re-enter / release──► held(n)
 *      │                   │  │
 *      │ caller left       │  └── last release begins ──► released     renewal stops before the command is sent
 *      ▼                   └── expired, gone, forced ───► lost         every level's signal aborts
 *   released
 *
 * The last release may pass the lock on to an acquisition of this client that waits: `trying ──taken over──► held(1)`,
 * and the hold in Redis continues under its name.
 *
 * It has its levels, what passes the lock on, and its release. Its `LockEntry` knows what Redis has; its `HeldLease` how
 * long that is trusted. Whoever finds that the lock is lost tells the lease, and that tells the acquisition.
 *
 * Its thread id is fresh, so a copy of one of its commands that arrives after it ended matches nothing.
 */
export class Acquisition
  implements Reenterable, HoldOwner, HeldLock, Holder, LeaseOwner, ReleaseObserver<Outcome>
{
  readonly owner: string
  readonly lease: HeldLease
  /** Its own, or that of the acquisition that passed the lock on to it. Written only here. */
  entry: LockEntry
  /** Created when the lock is passed on or granted. */
  private localPass: LocalPass | null = null
  private levels = NOT_YET
  private publication: HoldPublication | null = null
  readonly thread: Context | null
  readonly rule: ReentryRule
  readonly note: LevelRequest['note']

  constructor(
    readonly session: AcquireServices,
    readonly protocol: LockProtocol,
    { thread, rule, note }: Asker,
  ) {
    this.thread = thread
    this.rule = rule
    this.note = note
    this.owner = protocol.ownerOf(session.nextThreadId())
    this.lease = new HeldLease(this)
    this.entry = new LockEntry(session, protocol, this)
  }

  get lockName(): string {
    return this.protocol.lockName
  }

  get extras(): GrantExtras {
    return this.entry.state.grant.extras
  }

  /** Its field in Redis. */
  get field(): FieldName {
    return this.entry.field
  }

  /** Makes it re-enterable by its context, including siblings already waiting. */
  keepInContext(): void {
    if (this.thread) {
      this.session.contextEnds.keep(this, this.thread)
    }
  }

  /** The callback of a `withLock` has ended. */
  leaveToContext(): void {
    if (!this.isReleased && stayBehind(this.levels)) {
      this.keepInContext()
    }
  }

  get levelCount(): number {
    return this.levels.length
  }

  /** The level that a plain `unlock()` releases. */
  get latestLevel(): Hold | undefined {
    return latestOf(this.levels)
  }

  /** When its hold was published, monotonic ms; undefined: it was not. */
  get publishedAt(): number | undefined {
    return this.publication?.startedAt
  }

  get isReleased(): boolean {
    return this.levels === ENDED || this.isIdle
  }

  get trustedForMs(): number {
    return this.lease.trustedForMs
  }

  get isOver(): boolean {
    return this.isReleased || this.lease.lossError !== null
  }

  /** Tries once to acquire the lock for a first hold. */
  tryFirst<T>(request: LevelRequest, handler: ReplyHandler<AcquireReply, T>): Answer<T> {
    return this.entry.acquireFirst(this.termsOf(request), handler)
  }

  private termsOf({ limits, note }: LevelRequest): AcquireTerms {
    const { leaseMs = this.lease.usualMs, maxWaiting, waitMs } = limits
    return { leaseMs, waits: waitMs !== 0, rule: this.rule, note, maxWaiting }
  }

  /**
   * Makes a successful first try a hold. Null if the lease expired before it could be used (the process was paused
   * between sending and now): the caller releases it.
   * @throws ClientClosedError the client is closing: nobody would end a hold that it has not counted. As above
   */
  begin(request: LevelRequest): Hold | null {
    this.session.assertOpen(this.lockName)
    if (this.lease.watch) {
      // Passed on or granted. If lost since then, treated like a reply that came too late.
      return this.isOver ? null : this.publish(this.addLevel(request))
    }
    const now = this.session.runtime.now()
    const { leaseMs: ttlMs = this.lease.usualMs, renews: renew } = request.limits
    const { sentAt } = this.entry.state.grant
    if (now >= trustedUntil(sentAt, ttlMs)) {
      return null
    }
    const hold = this.addLevel(request)
    this.lease.begin({ sentAt, ttlMs, renew }, sentAt, now)
    return this.publish(hold)
  }

  /**
   * Only after its caller is resumed: exporters ask for the active span then, and a lock is passed on in another
   * caller's context.
   */
  private publish(hold: Hold): Hold {
    this.publication = this.session.reports.held(this.protocol, this.owner, this.lease.heldSince)
    return hold
  }

  private addLevel({ limits, ofCallback }: LevelRequest): Hold {
    const { leaseMs = this.lease.usualMs, renews } = limits
    const hold = new Hold(this, renews ? leaseMs : 0, ofCallback)
    if (this.levels.length === 0 || hold.renewedMs > longestRenewal(this.levels)) {
      this.lease.wants(hold.renewedMs)
    }
    // Most acquisitions have one level: a growing array would allocate spare room.
    this.levels = this.levels.length === 0 ? [hold] : [...this.levels, hold]
    return hold
  }

  /** Takes over the lock and its entry in Redis. @returns false: declined, the caller acquires through Redis */
  takeOver({ localPass, passedAt, sentAt, ttlMs, renew, end }: PassedHold): boolean {
    if (!localPass.mayReplace(this.entry)) {
      return false
    }
    end()
    this.localPass = localPass
    this.entry = localPass.entry
    this.lease.begin({ sentAt, ttlMs, renew }, passedAt)
    localPass.passTo(this)
    return true
  }

  /** Redis granted the lock while it waited. @returns false: declined, the caller asks Redis */
  takeGrant(grant: PushedGrant, request: LevelRequest): boolean {
    const { sentAt, ttlMs } = grant
    const { entry, session } = this
    if (!entry.isWaiting) {
      return false
    }
    const now = session.runtime.now()
    const watch = this.lease.begin({ sentAt, ttlMs, renew: false }, now)
    if (watch.trustedForMs === 0) {
      // Since the window began, the machine was suspended, or another primary took over.
      this.lease.cancel()
      return false
    }
    entry.state.granted({ ttlMs, wantedMs: request.limits.leaseMs ?? this.lease.usualMs })
    this.localPass = this.protocol.passing && new LocalPass(entry, session, this.protocol, grant.behind)
    confirmGrantSoon(entry, request.note)
    return true
  }

  /**
   * Tries once to add a level. Null: the last level was released meanwhile, so there is nothing to re-enter, or the
   * caller has left. A level is never added for a caller that has left: it would remain when the owner's other levels
   * are released, and the last release would report that the lock is still held (I2).
   * @throws LockLostError the lock is gone, with every level
   */
  tryReenter(request: LevelRequest, hasLeft: () => boolean): Promise<Hold | null> {
    const { lease } = this
    if (isRenewedFor(request.limits, this.levels, lease.usualMs) && this.reentersLocally && !hasLeft()) {
      const pause = this.session.yielding.beforeAnswer()
      if (pause) {
        return pause.then(() => this.tryReenter(request, hasLeft))
      }
      this.session.localReentry.followSoon(this.entry, this)
      return Promise.resolve(this.addLevel(request))
    }
    return this.entry.serial.runExclusive(async () => {
      lease.throwIfLost()
      if (this.isReleased || hasLeft()) {
        return null
      }
      const terms = { ...this.termsOf(request), waits: false }
      const reply = await this.entry.acquire(this.levelCount + 1, terms)
      if (reply.kind !== 'acquired') {
        lease.lose('gone')
      }
      lease.throwIfLost()
      lease.confirm(this.entry.state.grant.sentAt, terms.leaseMs)
      if (request.limits.renews && !hasLeft()) {
        lease.renew()
      }
      return hasLeft() ? null : this.addLevel(request)
    })
  }

  /**
   * A caller has left, or a command got no reply: undoes in the background what a late or unanswered command may have
   * done in Redis.
   * @returns that work; null: there is none
   */
  undo(): Promise<unknown> | null {
    const { entry } = this
    return entry.hasNothingInRedis || entry.state.isGivenUp ? null : this.releaseInBackground(this)
  }

  /** The client is closing: ends every level first, and only then releases the lock. */
  releaseOnClose(): Promise<unknown> {
    this.lease.lose('closed')
    return this.releaseUntilKnown(this.session.options.commandTimeout)
  }

  get isRenewed(): boolean {
    return longestRenewal(this.levels) > 0
  }

  get isIdle(): boolean {
    return this.levels === IDLE
  }

  onLost(reason: LossReason): void {
    if (this.isIdle) {
      this.session.idleLocks?.end(this.protocol.key, this.localPass ?? undefined)
      return
    }
    this.passesNoMore()
    this.publication?.lost(reason, this.session.runtime.now())
    const wasPassedOn = this.field.wasPassedOn && reason !== 'context-ended'
    if (reason === 'expired' || this.entry.state.hasLateCopies || wasPassedOn) {
      // Redis may still have the lock: a renewal without a reply may have extended it by a whole lease, and a late copy
      // of the acquire takes it again unless this release leaves its tombstone. Or Redis still has waiters queued that
      // the lock was passed on to, and would grant, or has granted, it to them.
      void this.releaseInBackground()
    }
  }

  onGrantConfirmed(): void {
    this.localPass?.confirmed()
    if (this.isRenewed) {
      this.lease.renew()
    }
  }

  /**
   * Makes the lease end at most this long from now (docs/decisions/0051 has the interleavings).
   * @throws InvalidArgumentError other levels share the lease; LockLostError, RedisUnavailableError
   */
  shorten(hold: Hold, leaseMs: number): Promise<void> {
    return this.entry.serial.runExclusive(async () => {
      this.lease.throwIfLost()
      // Released meanwhile: nothing is left to shorten.
      if (!this.isReleased && !hold.wasReleased) {
        refuseIfShared(this.levelCount)
        await this.lease.shorten(hold, leaseMs)
      }
    })
  }

  /**
   * Releases one level. @throws RedisUnavailableError Redis did not answer; the release is retried in the background
   */
  release(hold: Hold): Promise<Outcome> {
    if (this.levelCount > 1 && this.reentersLocally) {
      this.takeOff(hold)
      this.session.localReentry.followSoon(this.entry, this)
      return STILL_HELD
    }
    if (this.leaveHere(hold)) {
      return RELEASED
    }
    const turn = this.entry.serial.takeTicket()
    return turn ? turn.then(() => this.releaseNow(hold)) : this.releaseNow(hold)
  }

  /** See `Leaving`. */
  get whenWritten(): WhenWritten | null {
    const { session, protocol } = this
    return this.levelCount === 1 && this.lease.trustedForMs > 0 && this.entry.isSettled
      ? (tell) => session.runner.whenWritten(protocol.key, tell)
      : null
  }

  /**
   * The last level of a renewed lock may go to a caller of this client without Redis: to the next that waits, or to the
   * next that comes (`lingerMs`).
   */
  private leaveHere(hold: Hold): boolean {
    const { lease, protocol, session } = this
    const { watch } = lease
    if (!watch || this.levelCount !== 1 || hold.renewedMs !== lease.usualMs) {
      return false
    }
    if (this.isWantedHere && this.ownPass.offer(watch, () => this.endHere(hold, ENDED))) {
      return true
    }
    if (protocol.lingerMs === undefined || session.idleLocks?.keep(this, this.ownPass, watch) !== true) {
      return false
    }
    this.endHere(hold, IDLE)
    return true
  }

  /** Along Redis's queue only a granted lock is passed on, and that has a local pass already. */
  private get isWantedHere(): boolean {
    const { localPass, protocol, session } = this
    const queue = protocol.passing?.localQueue
    return localPass?.isWanted ?? (typeof queue === 'string' && session.waiter.isWaiting(queue))
  }

  private get ownPass(): LocalPass {
    return (this.localPass ??= new LocalPass(this.entry, this.session, this.protocol))
  }

  private endHere(hold: Hold, end: Levels): void {
    this.takeOff(hold, end)
    this.publication?.ended('released')
  }

  /** See `IdleHolder`. */
  releaseIdle(): Promise<ReleaseReply | undefined> {
    this.session.recentHolds.ending(this, this.session.runtime.now())
    return this.releaseUntilKnown(Infinity)
  }

  passesForMs(now: number): number {
    const { lease, localPass, protocol } = this
    // Along the queue in Redis each caller has a place, and has to ask for it.
    if (typeof protocol.passing?.localQueue !== 'string' || longestRenewal(this.levels) !== lease.usualMs) {
      return 0
    }
    return localPass ? localPass.passesForMs(now) : passesForMs(lease.heldSince, now)
  }

  /** A caller of this client that waits for the lock to be passed to it has to ask Redis. */
  private passesNoMore(): void {
    const queue = this.protocol.passing?.localQueue ?? null
    if (queue !== null) {
      this.session.waiter.reconsider(queue)
    }
  }

  /** Runs in its turn, which ends with the reply. */
  private releaseNow(hold: Hold): Promise<Outcome> {
    const { entry, session } = this
    const startedAt = session.runtime.now()
    this.takeOff(hold, ENDED, startedAt)
    if (this.lease.lossError) {
      entry.serial.passTicket()
      return Promise.resolve('lost')
    }
    if (this.isReleased) {
      session.recentHolds.ending(this, startedAt)
      this.localPass?.beginToEnd()
    }
    const request = { levels: this, limitMs: session.options.unavailableTimeoutMs, startedAt }
    const answer = entry.release(request, this)
    if (this.isReleased) {
      session.idleLocks?.releasing(this.protocol, this.localPass, answer)
    }
    return answer
  }

  /** A release has its reply, which ends its turn. */
  onReleased(reply: ReleaseReply): Outcome {
    try {
      this.localPass?.ended(reply)
      if (reply.kind === 'not-held') {
        this.lease.lose('gone')
        return 'lost'
      }
      if (!this.isReleased) {
        return 'still-held'
      }
      this.session.recentHolds.ended(this.protocol, reply)
      this.session.idleLocks?.released(this.protocol, reply)
      this.publication?.ended('released')
      this.passesNoMore()
      return 'released'
    } finally {
      this.entry.serial.passTicket()
    }
  }

  onReleaseFailed(error: unknown): never {
    this.session.idleLocks?.released(this.protocol, undefined)
    void this.undo()
    this.passesNoMore()
    if (this.isReleased) {
      this.publication?.ended('unknown')
    }
    this.entry.serial.passTicket()
    throw error
  }

  /** Its lock was kept for a token (`handOver`), or was gone before that, or it is unknown which. */
  wasHandedOver(outcome: 'released' | 'lost' | 'unknown'): void {
    if (outcome === 'lost') {
      this.publication?.lost('gone', this.session.runtime.now())
    } else {
      this.publication?.ended(outcome)
    }
  }

  /** Whether levels may be added and released without asking Redis. */
  private get reentersLocally(): boolean {
    return this.protocol.reentersLocally && !this.isOver && this.lease.isKept
  }

  /**
   * Renewal stops before the command is sent, whatever its outcome: no renewal can outlive the last hold.
   * @param end how its acquisition ends, if it is the last: the lease of one that is left idle is watched on
   * @param now the time, if the caller has read the clock
   */
  takeOff(hold: Hold, end = ENDED, now?: number): void {
    if (this.levelCount > 1) {
      this.levels = this.levels.filter((each) => each !== hold)
      this.lease.wants(longestRenewal(this.levels))
      return
    }
    this.levels = end
    if (end === ENDED) {
      this.lease.end()
    } else {
      this.session.held.remove(this)
    }
    this.thread?.forget(this)
    this.lease.tellOfLastLevel()
    this.publication?.over(now ?? this.session.runtime.now())
  }

  /** Sets the count in Redis to that of the levels, with the ticket. Never rejects: a failure is reported. */
  private releaseUntilKnown(limitMs: number, levels = NO_LEVEL_LEFT): Promise<ReleaseReply | undefined> {
    const { entry, session } = this
    return entry.serial
      .runExclusive(() => entry.releaseUntilKnown(levels, limitMs))
      .catch((error: unknown) => {
        reportFailedRelease(session, this, error)
        return undefined
      })
  }

  /** The same without a limit; a client that closes waits for it. */
  private releaseInBackground(levels = NO_LEVEL_LEFT): Promise<unknown> {
    const work = this.releaseUntilKnown(Infinity, levels)
    this.session.background.run(work)
    return work
  }
}
