import type { Grant, RenewableLease, Watch } from '@holdfast/watchdog'
import type { HeldLock } from '../client/held-locks.js'
import type { LeasedLock } from '../client/lease-store.js'
import type { AcquireServices } from './services.js'
import type { Context } from '../context/context.js'
import type { LockKind } from '../diagnostics/messages.js'
import { reportFailedRelease, reportFailedRenewal } from '../diagnostics/reports.js'
import type { ReentryRule, RemainingLevels } from '../entry/entry-commands.js'
import { isWellTrusted } from '../entry/well-trusted.js'
import type { FieldName } from '../entry/field-name.js'
import { LockEntry, type Holder } from '../entry/lock-entry.js'
import { LockLostError, type LossReason } from '../errors.js'
import { refuseIfShared, type Hold, Loss } from '../hold.js'
import type { LockProtocol } from '../kinds/lock-protocol.js'
import type { NoteRequest } from '../scripts/note.js'

const NO_LEVEL_LEFT: RemainingLevels = { levelCount: 0 }

/**
 * The lease of an acquisition: how long it is trusted, what the watchdog reports of it, and what its holders ask to
 * change. `Acquisition` decides when it begins and ends.
 */
export abstract class AcquiredLease implements RenewableLease, LeasedLock, HeldLock, Holder {
  readonly owner: string
  /** Its entry in Redis: its own, or that of the acquisition that handed the lock over to it. */
  protected ownEntry: LockEntry
  protected watch: Watch | null = null
  /** The lease that the levels want renewed, ms; 0: none of them is renewed, or there is none yet. */
  protected renewedMs = 0
  private since = 0
  /** The lease to ask for after a grant, until that is done, ms. */
  private unconfirmedMs = 0
  private shortened = false
  /** A message reported a forced release. Redis's reply tells whether it is true: see `onLost`. */
  private isSaidForced = false
  /** Created on first use, or by a loss. */
  private madeLoss: Loss | null = null

  constructor(
    readonly session: AcquireServices,
    readonly protocol: LockProtocol,
    /** The logical thread it belongs to; null outside any context. */
    readonly thread: Context | null,
    readonly rule: ReentryRule,
  ) {
    this.owner = protocol.ownerOf(session.nextThreadId())
    this.ownEntry = new LockEntry(session, protocol, this)
  }

  abstract readonly note: NoteRequest | undefined
  abstract readonly levelCount: number
  abstract readonly latestLevel: Hold | undefined
  /** Every level was released. */
  abstract readonly isReleased: boolean
  /** Some level wants to be renewed. */
  protected abstract readonly wantsRenewal: boolean
  abstract passesForMs(now: number): number
  abstract lose(reason: LossReason): void
  abstract releaseOnClose(): Promise<unknown>

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
    return this.entry.state.grant.token
  }

  get tokenKey(): string | undefined {
    return this.token === undefined ? undefined : this.protocol.tokenKey
  }

  get replicas(): number | undefined {
    return this.entry.state.grant.replicas
  }

  get entry(): LockEntry {
    return this.ownEntry
  }

  /** Its field in Redis. */
  get field(): FieldName {
    return this.entry.field
  }

  /** Since when it holds the lock, monotonic ms. */
  get heldSince(): number {
    return this.since
  }

  get loss(): Loss {
    return (this.madeLoss ??= new Loss())
  }

  get lossError(): LockLostError | null {
    return this.madeLoss?.error ?? null
  }

  get isOver(): boolean {
    return this.isReleased || this.lossError !== null
  }

  get isShortened(): boolean {
    return this.shortened
  }

  /** The lease that a renewal sets, ms: the longest that a level wants, or that of the watchdog. */
  get ttlMs(): number {
    return this.renewedMs || this.usualMs
  }

  /** The lease of a call without one of its own, ms. */
  get usualMs(): number {
    return this.session.options.lockWatchdogTimeout
  }

  get trustedForMs(): number {
    return this.isOver || !this.watch ? 0 : this.watch.trustedForMs
  }

  /** It is renewed, and no renewal is failing. */
  protected get isKept(): boolean {
    const { watch, ttlMs } = this
    return !this.isOver && watch?.renewing === true && isWellTrusted(watch.trustedForMs, ttlMs)
  }

  throwIfLost(): void {
    this.madeLoss?.throwIfSet()
  }

  /** Renewal stops, before the command is sent that releases the lock. */
  protected endLease(): void {
    this.watch?.stop()
    this.session.held.remove(this)
  }

  /** Every level was released. */
  protected tellOfLastLevel(): void {
    this.madeLoss?.afterLastLevel?.()
  }

  /** Starts to watch the lease of what this client holds, for at most `maxHoldMs` from `from` on (monotonic ms). */
  protected watchFrom(grant: Grant, from: number, heldSince = from): Watch {
    const { watchdog, held, options } = this.session
    const { maxHoldMs } = options
    const limited =
      maxHoldMs === undefined ? grant : { ...grant, renewForMs: from - grant.sentAt + maxHoldMs }
    const watch = watchdog.watch(this, limited)
    held.add(this)
    this.watch = watch
    this.since = heldSince
    return watch
  }

  /** The watch that it began is not used. */
  protected unwatch(): void {
    this.watch?.stop()
    this.watch = null
    this.session.held.remove(this)
  }

  /** The lock was granted with a short lease; this one is asked for soon. */
  protected wantsLease(leaseMs: number): void {
    this.unconfirmedMs = leaseMs
  }

  /** Lease left according to Redis, ms, -1 without expiry; null when this owner does not hold the lock. */
  remaining(timeoutMs?: number): Promise<number | null> {
    return this.protocol.remaining(this.entry, timeoutMs)
  }

  /** Asks Redis whether the owner still holds the lock. @throws LockLostError, RedisUnavailableError */
  async verify(): Promise<void> {
    this.throwIfLost()
    const { runtime, options } = this.session
    const sentAt = runtime.now()
    const remainingMs = await this.remaining()
    if (remainingMs === null && !this.isReleased) {
      this.lose('gone')
    } else if (remainingMs !== null && remainingMs >= 0) {
      // The primary may have a renewal that no replica has: if replicas count, it adds no trust.
      this.watch?.correct(sentAt, remainingMs, { mayGrow: !options.replicas })
    }
    this.throwIfLost()
  }

  /** Makes the lease last at least this long from now. @throws LockLostError, RedisUnavailableError */
  extend(leaseMs: number): Promise<void> {
    this.session.lastHolders.noteLease(leaseMs)
    return this.entry.serial.runExclusive(async () => {
      this.throwIfLost()
      if (!this.isReleased) {
        await this.entry.extend(leaseMs)
        this.throwIfLost()
      }
    })
  }

  /**
   * Makes the lease end at most this long from now (docs/decisions/0051 has the interleavings).
   * @throws InvalidArgumentError other levels share the lease; LockLostError, RedisUnavailableError
   */
  shorten(hold: Hold, leaseMs: number): Promise<void> {
    const { entry } = this
    return entry.serial.runExclusive(async () => {
      this.throwIfLost()
      // Released meanwhile: nothing is left to shorten.
      if (this.isReleased || hold.wasReleased) {
        return
      }
      refuseIfShared(this.levelCount)
      if (this.unconfirmedMs > 0) {
        // The lease of a grant is shorter than that of the call, perhaps shorter than this one.
        await entry.extend(Math.min(leaseMs, this.unconfirmedMs))
      }
      this.endSooner(hold, leaseMs)
      await entry.shorten(leaseMs)
      this.throwIfLost()
    })
  }

  /** Before the command is sent: trust and renewal must not outlast what it does, if its reply is late or missing. */
  private endSooner(hold: Hold, leaseMs: number): void {
    this.shortened = true
    hold.renewedMs = 0
    this.renewedMs = 0
    this.watch?.shorten(this.session.runtime.now(), leaseMs)
  }

  /**
   * A message reports a forced release. Any client that may publish can send it, so it only suspends trust: Redis is
   * asked, and its reply alone ends the hold.
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
    this.loss.afterRenewal?.()
    this.entry.state.transactionIsOver()
  }

  onRenewalFailed(error: unknown): void {
    const failingForMs = this.loss.renewalFailed(error, this.session.runtime.now(), this.watch?.provenAt)
    reportFailedRenewal(this.session, this, error, failingForMs)
  }

  onLeaseConfirmed(sentAt: number, leaseMs: number): void {
    this.watch?.confirm(sentAt, leaseMs)
  }

  onGrantConfirmed(): void {
    this.unconfirmedMs = 0
    if (this.wantsRenewal) {
      this.watch?.setRenewing(true)
    }
  }

  /** The error of a loss for this reason, with how trust in the lease ran out. */
  protected errorOf(reason: LossReason): LockLostError {
    const { lockName, owner, watch, session } = this
    const isExpired = reason === 'expired' && watch
    const end = isExpired ? this.loss.endOfLease(watch, session.runtime.now(), this.renewedMs > 0) : {}
    return new LockLostError({ lockName, owner, reason, ...end })
  }

  /** Sets the count in Redis to that of the levels, in its turn. Never rejects: a failure is reported. */
  protected releaseUntilKnown(limitMs: number, levels = NO_LEVEL_LEFT): Promise<unknown> {
    const { entry, session } = this
    return entry.serial
      .runExclusive(() => entry.releaseUntilKnown(levels, limitMs))
      .catch((error: unknown) => reportFailedRelease(session, this, error))
  }

  /** The same without a limit; a client that closes waits for it. */
  protected releaseInBackground(levels = NO_LEVEL_LEFT): Promise<unknown> {
    const work = this.releaseUntilKnown(Infinity, levels)
    this.session.background.run(work)
    return work
  }
}
