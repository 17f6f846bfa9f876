import type { Answer } from '@holdfast/waiter'
import { trustedUntil } from '@holdfast/watchdog'
import { AcquiredLease } from './acquired-lease.js'
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
import { reportLoss } from '../diagnostics/reports.js'
import type { AcquireTerms, ReleaseObserver } from '../entry/entry-commands.js'
import { LocalPass, passesForMs, type PassedHold } from '../pass/local-pass.js'
import { confirmGrantSoon } from '../pass/confirm-grant.js'
import type { LossReason } from '../errors.js'
import { Hold, type HoldOwner } from '../hold.js'
import type { PushedGrant } from '../pass/grants.js'
import { RELEASED, type WhenWritten } from '../runtime/release-waits.js'
import type { ReplyHandler } from '../runtime/reply-handler.js'
import type { AcquireReply } from '../scripts/acquire-reply.js'
import type { ReleaseReply } from '../scripts/lock.js'

type Outcome = 'released' | 'still-held' | 'lost'

const STILL_HELD: Promise<Outcome> = Promise.resolve('still-held')
const LOST: Promise<Outcome> = Promise.resolve('lost')
const NO_HOLDS: readonly Hold[] = []

/**
 * One outermost acquisition of one lock by one context, from its first try to its last release.
 *
 *   trying ──acquired──► held(1) ◄──re-enter / release──► held(n)
 *      │                   │  │
 *      │ caller left       │  └── last release begins ──► released     renewal stops before the command is sent
 *      ▼                   └── expired, gone, forced ───► lost         every level's signal aborts
 *   given back
 *
 * The last release may hand the lock over to an acquisition of this client that waits: `trying ──taken over──► held(1)`,
 * and the hold in Redis continues under its name.
 *
 * Its thread id is fresh, so a copy of one of its commands that arrives after it ended matches nothing.
 */
export class Acquisition extends AcquiredLease implements Reenterable, HoldOwner, ReleaseObserver<Outcome> {
  /** Created when the lock is passed on or granted. */
  private localPass: LocalPass | null = null
  private levels: readonly Hold[] = NO_HOLDS
  private released = false
  private localReentry: LocalReentry | null = null
  private context: Context | null = null
  private siblings: SiblingMutex | null = null
  private publication: HoldPublication | null = null
  private noted: LevelRequest['note'] = undefined

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

  protected get wantsRenewal(): boolean {
    return anyWatched(this.levels)
  }

  /** Tries once to acquire the lock for a first hold. */
  tryFirst<T>(request: LevelRequest, handler: ReplyHandler<AcquireReply, T>): Answer<T> {
    return this.entry.acquireFirst(this.termsOf(request, request.waitMs !== 0), handler)
  }

  private termsOf({ leaseMs = this.usualMs, note, maxWaiting }: LevelRequest, waits: boolean): AcquireTerms {
    return { leaseMs, waits, rule: this.rule, note, maxWaiting }
  }

  /**
   * Makes a successful first try a hold. Null if the lease expired before it could be used (the process was paused
   * between sending and now): the caller releases it.
   * @throws ClientClosedError the client is closing: nobody would end a hold that it has not counted. As above
   */
  begin(request: LevelRequest): Hold | null {
    this.session.assertOpen(this.lockName)
    if (this.watch) {
      // Passed on or granted. If lost since then, treated like a reply that came too late.
      return this.isOver ? null : this.beHeld(request)
    }
    const now = this.session.runtime.now()
    const ttlMs = request.leaseMs ?? this.usualMs
    const { sentAt } = this.entry.state.grant
    if (now >= trustedUntil(sentAt, ttlMs)) {
      return null
    }
    this.renewedMs = request.renews ? ttlMs : 0
    this.watchFrom({ sentAt, ttlMs, renew: request.renews }, sentAt, now)
    return this.beHeld(request)
  }

  /**
   * Only after its caller is resumed: exporters ask for the active span then, and a lock is passed on in another
   * caller's context.
   */
  private beHeld(request: LevelRequest): Hold {
    this.publication = this.session.reports.held(this, this.heldSince)
    return this.addLevel(request)
  }

  private addLevel({ leaseMs = this.usualMs, renews, ofCallback }: LevelRequest): Hold {
    const renewedMs = renews ? leaseMs : 0
    const hold = new Hold(this, renewedMs, ofCallback)
    this.levels = withLevel(this.levels, hold)
    this.renewedMs = Math.max(this.renewedMs, renewedMs)
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
    this.ownEntry = localPass.entry
    this.watchFrom({ sentAt, ttlMs, renew }, passedAt)
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
    const watch = this.watchFrom({ sentAt, ttlMs, renew: false }, now)
    if (watch.trustedForMs === 0) {
      // Since the window began, the machine was suspended, or another primary took over.
      this.unwatch()
      return false
    }
    entry.granted(ttlMs)
    this.localPass = this.protocol.passing && new LocalPass(entry, this, now, grant)
    this.wantsLease(request.leaseMs ?? this.usualMs)
    confirmGrantSoon(entry, session, request)
    return true
  }

  /**
   * Tries once to add a level. Null: the last level was released meanwhile, so there is nothing to re-enter, or the
   * caller has left. A level is never added for a caller that has left: it would remain when the owner's other levels
   * are released, and the last release would report that the lock is still held (I2).
   * @throws LockLostError the lock is gone, with every level
   */
  tryReenter(request: LevelRequest, hasLeft: () => boolean): Promise<Hold | null> {
    if (isRenewedFor(request, this.renewedMs, this.usualMs) && this.reentersLocally && !hasLeft()) {
      const pause = this.session.yielding.beforeAnswer()
      if (pause) {
        return pause.then(() => this.tryReenter(request, hasLeft))
      }
      this.followCountSoon()
      return Promise.resolve(this.addLevel(request))
    }
    return this.entry.serial.runExclusive(async () => {
      this.throwIfLost()
      if (this.released || hasLeft()) {
        return null
      }
      const terms = this.termsOf(request, false)
      const reply = await this.entry.acquire(this.levelCount + 1, terms)
      if (reply.kind !== 'acquired') {
        this.lose('gone')
      }
      this.throwIfLost()
      this.watch?.confirm(this.entry.state.grant.sentAt, terms.leaseMs)
      if (request.renews && !hasLeft()) {
        this.watch?.setRenewing(true)
      }
      return hasLeft() ? null : this.addLevel(request)
    })
  }

  /**
   * A caller has left, or a command got no reply: undoes in the background what a late or unanswered command may have
   * done in Redis.
   * @returns that work; null: there is none
   */
  giveBack(): Promise<unknown> | null {
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
    if (this.lossError) {
      return
    }
    this.endLease()
    const error = this.errorOf(reason)
    this.loss.set(error)
    reportLoss(this.session, this, error)
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

  override onGrantConfirmed(): void {
    this.localPass?.confirmed()
    super.onGrantConfirmed()
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
    if (this.passOn(hold)) {
      return RELEASED
    }
    const turn = this.entry.serial.takeTicket()
    return turn ? turn.then(() => this.releaseNow(hold)) : this.releaseNow(hold)
  }

  /** See `Leaving`. */
  get whenWritten(): WhenWritten | null {
    const { session, key } = this
    return this.levelCount === 1 && this.trustedForMs > 0 && this.entry.isSettled
      ? (tell) => session.runner.whenWritten(key, tell)
      : null
  }

  /** The last level of a renewed lock may be passed on to the next local waiter, without Redis. */
  private passOn(hold: Hold): boolean {
    const { watch, localPass, protocol } = this
    // Along Redis's queue only a granted lock is passed on, and that has a local pass already.
    const isLocal = !localPass && typeof protocol.passing?.localQueue === 'string'
    const isWanted = localPass?.isWanted ?? (isLocal && protocol.isAwaited)
    if (!isWanted || !watch || this.levelCount !== 1 || hold.renewedMs !== this.usualMs) {
      return false
    }
    this.localPass ??= new LocalPass(this.entry, this, this.heldSince)
    return this.localPass.offer(watch, () => {
      this.end(hold)
      this.publication?.ended('released')
    })
  }

  passesForMs(now: number): number {
    const { localPass, protocol } = this
    // Along the queue in Redis each caller has a place, and has to ask for it.
    if (typeof protocol.passing?.localQueue !== 'string' || this.renewedMs !== this.usualMs) {
      return 0
    }
    return localPass ? localPass.passesForMs(now) : passesForMs(this.heldSince, now)
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
    if (this.lossError) {
      entry.serial.passTicket()
      return LOST
    }
    if (this.released) {
      session.recentHolds.ending(this, startedAt)
      this.localPass?.beginToEnd()
    }
    return entry.release({ levels: this, limitMs: session.options.unavailableTimeoutMs, startedAt }, this)
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
      this.publication?.ended('released')
      this.passesNoMore()
      return 'released'
    } finally {
      this.entry.serial.passTicket()
    }
  }

  onReleaseFailed(error: unknown): never {
    void this.giveBack()
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
    return this.protocol.reentersLocally && this.isKept
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
      this.renewedMs = longestRenewal(this.levels)
      if (this.renewedMs === 0) {
        this.watch?.setRenewing(false)
      }
      return
    }
    this.released = true
    this.endLease()
    this.context?.forget(this)
    this.tellOfLastLevel()
    this.publication?.over(now ?? this.session.runtime.now())
  }
}
