/* eslint max-lines: ["error", { "max": 440, "skipBlankLines": true, "skipComments": true }] -- a release has three ends here: passed on, idle, sent */
import type { Answer } from '@holdfast/waiter'
import { trustedUntil, type Grant, type Watch } from '@holdfast/watchdog'
import { HeldLease, type LeaseOwner } from './held-lease.js'
import {
  anyWatched,
  isRenewedFor,
  latestOf,
  longestRenewal,
  stayBehind,
  withLevel,
  withoutLevel,
  type LevelRequest,
} from './levels.js'
import { LocalReentry } from '../pass/local-reentry.js'
import { newSiblingMutex, type Context, type Reenterable, type SiblingMutex } from '../context/context.js'
import type { HoldPublication } from '../diagnostics/hold-publication.js'
import type { LockKind } from '../diagnostics/messages.js'
import { reportFailedRelease } from '../diagnostics/reports.js'
import type { AcquireTerms, ReentryRule, ReleaseObserver, RemainingLevels } from '../entry/entry-commands.js'
import type { FieldName } from '../entry/field-name.js'
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

const STILL_HELD: Promise<Outcome> = Promise.resolve('still-held')
const LOST: Promise<Outcome> = Promise.resolve('lost')
const NO_HOLDS: readonly Hold[] = []
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
 * long that is trusted, and tells it one thing: that it was lost, and why.
 *
 * Its thread id is fresh, so a copy of one of its commands that arrives after it ended matches nothing.
 */
export class Acquisition
  implements Reenterable, HoldOwner, HeldLock, Holder, LeaseOwner, ReleaseObserver<Outcome>
{
  readonly owner: string
  readonly lease = new HeldLease(this)
  /** Its own, or that of the acquisition that passed the lock on to it. Written only here. */
  entry: LockEntry
  /** Created when the lock is passed on or granted. */
  private localPass: LocalPass | null = null
  private levels: readonly Hold[] = NO_HOLDS
  private released = false
  /** It was released, and left the lock to the next caller of this client, or to the end of its bound. */
  private leftIdle = false
  private localReentry: LocalReentry | null = null
  private context: Context | null = null
  private siblings: SiblingMutex | null = null
  private publication: HoldPublication | null = null
  private noted: LevelRequest['note'] = undefined

  constructor(
    readonly session: AcquireServices,
    readonly protocol: LockProtocol,
    /** The logical thread it belongs to; null outside any context. */
    readonly thread: Context | null,
    readonly rule: ReentryRule,
  ) {
    this.owner = protocol.ownerOf(session.nextThreadId())
    this.entry = new LockEntry(session, protocol, this)
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
    return this.entry.state.extras.token
  }

  get tokenKey(): string | undefined {
    return this.token === undefined ? undefined : this.protocol.tokenKey
  }

  get replicas(): number | undefined {
    return this.entry.state.extras.replicas
  }

  /** Its field in Redis. */
  get field(): FieldName {
    return this.entry.field
  }

  /** Makes it re-enterable by its context, including siblings already waiting. */
  keepIn(context: Context | null): void {
    this.context = context
    if (context) {
      this.session.contextEnds.keep(this, context)
    }
  }

  /** The callback of a `withLock` has ended. */
  leaveTo(context: Context): void {
    if (!this.released && stayBehind(this.levels)) {
      this.keepIn(context)
    }
  }

  get levelCount(): number {
    return this.levels.length
  }

  /** The level that a plain `unlock()` releases. */
  get latestLevel(): Hold | undefined {
    return latestOf(this.levels)
  }

  get note(): LevelRequest['note'] {
    return this.noted
  }

  /** When its hold was published, monotonic ms; undefined: it was not. */
  get publishedAt(): number | undefined {
    return this.publication?.startedAt
  }

  /** The mutex of siblings in the context that holds it. */
  get siblingMutex(): SiblingMutex {
    return (this.siblings ??= newSiblingMutex())
  }

  get isReleased(): boolean {
    return this.released
  }

  get heldSince(): number {
    return this.lease.heldSince
  }

  get trustedForMs(): number {
    return this.lease.trustedForMs
  }

  get isOver(): boolean {
    return this.released || this.lease.lossError !== null
  }

  /** Tries once to acquire the lock for a first hold. */
  tryFirst<T>(request: LevelRequest, handler: ReplyHandler<AcquireReply, T>): Answer<T> {
    return this.entry.acquireFirst(this.termsOf(request, request.waitMs !== 0), handler)
  }

  private termsOf(
    { leaseMs = this.lease.usualMs, note, maxWaiting }: LevelRequest,
    waits: boolean,
  ): AcquireTerms {
    return { leaseMs, waits, rule: this.rule, note, maxWaiting }
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
      return this.isOver ? null : this.beHeld(request)
    }
    const now = this.session.runtime.now()
    const ttlMs = request.leaseMs ?? this.lease.usualMs
    const { grantedAt: sentAt } = this.entry.state
    if (now >= trustedUntil(sentAt, ttlMs)) {
      return null
    }
    this.lease.wants(request.renews ? ttlMs : 0)
    this.beginLease({ sentAt, ttlMs, renew: request.renews }, sentAt, now)
    return this.beHeld(request)
  }

  private beginLease(grant: Grant, from: number, heldSince = from): Watch {
    const watch = this.lease.begin(grant, from, heldSince)
    this.session.held.add(this)
    return watch
  }

  endLease(): void {
    this.lease.end()
    this.session.held.remove(this)
  }

  /**
   * Only after its caller is resumed: exporters ask for the active span then, and a lock is passed on in another
   * caller's context.
   */
  private beHeld(request: LevelRequest): Hold {
    this.publication = this.session.reports.held(this, this.lease.heldSince)
    return this.addLevel(request)
  }

  private addLevel({ leaseMs = this.lease.usualMs, renews, ofCallback }: LevelRequest): Hold {
    const renewedMs = renews ? leaseMs : 0
    const hold = new Hold(this, renewedMs, ofCallback)
    this.levels = withLevel(this.levels, hold)
    if (renewedMs > this.lease.renewedMs) {
      this.lease.wants(renewedMs)
    }
    return hold
  }

  /** Takes over the lock and its entry in Redis. @returns false: declined, the caller acquires through Redis */
  takeOver({ localPass, passedAt, sentAt, ttlMs, renew, end }: PassedHold, { note }: LevelRequest): boolean {
    const isFree = localPass.isAlongRedisQueue ? this.entry.isOnlyInLine : this.entry.isUntouched
    if (!isFree) {
      return false
    }
    end()
    this.noted = note
    this.localPass = localPass
    this.entry = localPass.entry
    this.beginLease({ sentAt, ttlMs, renew }, passedAt)
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
    const watch = this.beginLease({ sentAt, ttlMs, renew: false }, now)
    if (watch.trustedForMs === 0) {
      // Since the window began, the machine was suspended, or another primary took over.
      this.lease.cancel()
      session.held.remove(this)
      return false
    }
    entry.state.granted(ttlMs)
    this.localPass = this.protocol.passing && new LocalPass(entry, session, this.protocol, grant)
    this.lease.asksSoon(request.leaseMs ?? this.lease.usualMs)
    confirmGrantSoon(entry, request)
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
    if (isRenewedFor(request, lease.renewedMs, lease.usualMs) && this.reentersLocally && !hasLeft()) {
      const pause = this.session.yielding.beforeAnswer()
      if (pause) {
        return pause.then(() => this.tryReenter(request, hasLeft))
      }
      this.followCountSoon()
      return Promise.resolve(this.addLevel(request))
    }
    return this.entry.serial.runExclusive(async () => {
      lease.throwIfLost()
      if (this.released || hasLeft()) {
        return null
      }
      const terms = this.termsOf(request, false)
      const reply = await this.entry.acquire(this.levelCount + 1, terms)
      if (reply.kind !== 'acquired') {
        this.lose('gone')
      }
      lease.throwIfLost()
      lease.confirm(this.entry.state.grantedAt, terms.leaseMs)
      if (request.renews && !hasLeft()) {
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
    this.lose('closed')
    return this.releaseUntilKnown(this.session.options.commandTimeout)
  }

  /** Ends every level, as soon as this client can know of the loss. */
  lose(reason: LossReason): void {
    if (this.leftIdle) {
      this.session.idleLocks?.end(this.key, this.localPass ?? undefined)
      return
    }
    if (this.lease.lossError) {
      return
    }
    this.endLease()
    this.lease.lost(reason)
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
    this.lease.asksSoon(0)
    if (anyWatched(this.levels)) {
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
      if (!this.released && !hold.wasReleased) {
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
      this.end(hold)
      this.followCountSoon()
      return STILL_HELD
    }
    if (this.passOn(hold) || this.leaveIdle(hold)) {
      return RELEASED
    }
    const turn = this.entry.serial.takeTicket()
    return turn ? turn.then(() => this.releaseNow(hold)) : this.releaseNow(hold)
  }

  /** See `Leaving`. */
  get whenWritten(): WhenWritten | null {
    const { session, key } = this
    return this.levelCount === 1 && this.lease.trustedForMs > 0 && this.entry.isSettled
      ? (tell) => session.runner.whenWritten(key, tell)
      : null
  }

  /** The last level of a renewed lock may be passed on to the next local waiter, without Redis. */
  private passOn(hold: Hold): boolean {
    const { lease, localPass, protocol, session } = this
    const { watch } = lease
    // Along Redis's queue only a granted lock is passed on, and that has a local pass already.
    const isLocal = !localPass && typeof protocol.passing?.localQueue === 'string'
    const isWanted = localPass?.isWanted ?? (isLocal && protocol.isAwaited)
    if (!isWanted || !watch || this.levelCount !== 1 || hold.renewedMs !== lease.usualMs) {
      return false
    }
    this.localPass ??= new LocalPass(this.entry, session, protocol)
    return this.localPass.offer(watch, () => {
      this.end(hold)
      this.publication?.ended('released')
    })
  }

  /** The last level of a renewed lock may stay for the next caller (`lingerMs`), without Redis. */
  private leaveIdle(hold: Hold): boolean {
    const { lease, protocol, session } = this
    const mayStay =
      protocol.lingerMs !== undefined && this.levelCount === 1 && hold.renewedMs === lease.usualMs
    if (!mayStay || !lease.watch) {
      return false
    }
    this.localPass ??= new LocalPass(this.entry, session, protocol)
    this.leftIdle = session.idleLocks?.keep(this, this.localPass, lease.watch) ?? false
    if (this.leftIdle) {
      this.end(hold)
      this.publication?.ended('released')
    }
    return this.leftIdle
  }

  /** See `IdleHolder`. */
  releaseIdle(): Promise<ReleaseReply | undefined> {
    this.session.recentHolds.ending(this, this.session.runtime.now())
    return this.releaseUntilKnown(Infinity)
  }

  passesForMs(now: number): number {
    const { lease, localPass, protocol } = this
    // Along the queue in Redis each caller has a place, and has to ask for it.
    if (typeof protocol.passing?.localQueue !== 'string' || lease.renewedMs !== lease.usualMs) {
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
    this.end(hold, startedAt)
    if (this.lease.lossError) {
      entry.serial.passTicket()
      return LOST
    }
    if (this.released) {
      session.recentHolds.ending(this, startedAt)
      this.localPass?.beginToEnd()
    }
    const request = { levels: this, limitMs: session.options.unavailableTimeoutMs, startedAt }
    const answer = entry.release(request, this)
    if (this.released) {
      session.idleLocks?.releasing(this.protocol, this.localPass, answer)
    }
    return answer
  }

  /** A release has its reply, which ends its turn. */
  onReleased(reply: ReleaseReply): Outcome {
    try {
      this.localPass?.ended(reply)
      if (reply.kind === 'not-held') {
        this.lose('gone')
        return 'lost'
      }
      if (!this.released) {
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
    if (this.released) {
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

  private followCountSoon(): void {
    this.localReentry ??= new LocalReentry(this.entry, this, this.session)
    this.localReentry.followSoon()
  }

  /**
   * Renewal stops before the command is sent, whatever its outcome: no renewal can outlive the last hold.
   * @param now the time, if the caller has read the clock
   */
  end(hold: Hold, now?: number): void {
    this.levels = withoutLevel(this.levels, hold)
    if (this.levelCount > 0) {
      this.lease.wants(longestRenewal(this.levels))
      return
    }
    this.released = true
    if (this.leftIdle) {
      // Its lease is watched on.
      this.session.held.remove(this)
    } else {
      this.endLease()
    }
    this.context?.forget(this)
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
