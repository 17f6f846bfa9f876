import type { Grant, RenewableLease, Watch } from '@holdfast/watchdog'
import type { HeldLock } from '../client/held-locks.js'
import type { LeasedLock } from '../client/lease-store.js'
import type { LockKind } from '../diagnostics/messages.js'
import { reportFailedRenewal, reportLoss } from '../diagnostics/reports.js'
import type { FieldName } from '../entry/field-name.js'
import type { LockEntry } from '../entry/lock-entry.js'
import { LockLostError, type LeaseEnd, type LossReason } from '../errors.js'
import type { Hold } from '../hold.js'
import type { LockProtocol } from '../kinds/lock-protocol.js'
import { isWellTrusted } from '../entry/well-trusted.js'
import type { AcquireServices } from './services.js'

/** The acquisition whose lease it is. */
export interface LeaseOwner extends HeldLock {
  readonly session: AcquireServices
  readonly protocol: LockProtocol
  /** Its entry in Redis, which may be that of the acquisition that passed the lock on to it. */
  readonly entry: LockEntry
  /** Every level was released. */
  readonly isReleased: boolean
  /** The watchdog renews it because of one of its levels. */
  readonly isRenewed: boolean
  /** It was released, and is left to the next caller of this client: nobody holds it. */
  readonly isIdle: boolean
  /** The one thing that it is told of its lease: that this was lost, and why. */
  onLost(reason: LossReason): void
}

/**
 * The lease of an acquisition: how long it is trusted, whether the watchdog renews it, and whether and why it was lost. It knows of no levels and passes nothing on.
 *
 *   begin ──► trusted ──► suspect ──► trusted         a message says that it was released by force: Redis is asked
 *                │  └──────────► lost                 expired, or Redis has it no more: `owner.onLost`
 *                └── end ──► over
 */
export class HeldLease implements RenewableLease, LeasedLock {
  // All of these are written only here.
  /** Null until it begins. */
  watch: Watch | null = null
  /** Since when it is held, monotonic ms. */
  heldSince = 0
  /** The lease that a renewal sets, ms: the longest that a level wants, or that of the watchdog. */
  ttlMs: number
  /** A message reported a forced release. Redis's reply tells whether it is true: see `onLost`. */
  private isSaidForced = false
  /** Created on first use, or by a loss. */
  private madeLoss: Loss | null = null

  constructor(private readonly of: LeaseOwner) {
    this.ttlMs = this.usualMs
  }

  get key(): string {
    return this.of.protocol.key
  }

  get shared(): boolean {
    return this.of.protocol.shared
  }

  get lockName(): string {
    return this.of.protocol.lockName
  }

  get kind(): LockKind {
    return this.of.protocol.kind
  }

  get owner(): string {
    return this.of.owner
  }

  get field(): FieldName {
    return this.of.entry.field
  }

  get loss(): Loss {
    return (this.madeLoss ??= new Loss())
  }

  get lossError(): LockLostError | null {
    return this.madeLoss?.error ?? null
  }

  /** The lease of a call without one of its own, ms. */
  get usualMs(): number {
    return this.of.session.options.lockWatchdogTimeout
  }

  /** 0 when it has ended: a watch that was stopped trusts nothing. */
  get trustedForMs(): number {
    return this.watch?.trustedForMs ?? 0
  }

  /** It is renewed, and no renewal is failing. */
  get isKept(): boolean {
    const { watch, ttlMs } = this
    return watch?.renewing === true && isWellTrusted(watch.trustedForMs, ttlMs)
  }

  throwIfLost(): void {
    this.madeLoss?.throwIfSet()
  }

  /** Starts to watch what this client now holds, for at most `maxHoldMs` from `from` on (monotonic ms). */
  begin(grant: Grant, from: number, heldSince = from): Watch {
    const { watchdog, options, held } = this.of.session
    const { maxHoldMs } = options
    const limited =
      maxHoldMs === undefined ? grant : { ...grant, renewForMs: from - grant.sentAt + maxHoldMs }
    this.heldSince = heldSince
    const watch = watchdog.watch(this, limited)
    this.watch = watch
    held.add(this.of)
    return watch
  }

  /** The watch that it began is not used. */
  cancel(): void {
    this.end()
    this.watch = null
  }

  /** Renewal and trust stop, before the command is sent that releases the lock. */
  end(): void {
    this.watch?.stop()
    this.of.session.held.remove(this.of)
  }

  /** The longest lease that a level wants renewed, ms; 0: none does. */
  wants(renewedMs: number): void {
    this.ttlMs = renewedMs || this.usualMs
    if (renewedMs === 0) {
      this.watch?.setRenewing(false)
    }
  }

  renew(): void {
    this.watch?.setRenewing(true)
  }

  /** Redis confirmed a lease for a request sent at `sentAt`. */
  confirm(sentAt: number, leaseMs: number): void {
    this.watch?.confirm(sentAt, leaseMs)
  }

  /** Lease left according to Redis, ms, -1 without expiry; null when this owner does not hold the lock. */
  remaining(timeoutMs?: number): Promise<number | null> {
    return this.of.protocol.remaining(this.of.entry, timeoutMs)
  }

  /** Asks Redis whether the owner still holds the lock. @throws LockLostError, RedisUnavailableError */
  async verify(): Promise<void> {
    this.throwIfLost()
    const { runtime, options } = this.of.session
    const sentAt = runtime.now()
    const remainingMs = await this.remaining()
    if (remainingMs === null && !this.of.isReleased) {
      this.lose('gone')
    } else if (remainingMs !== null && remainingMs >= 0) {
      // The primary may have a renewal that no replica has: if replicas count, it adds no trust.
      this.watch?.correct(sentAt, remainingMs, { mayGrow: !options.replicas })
    }
    this.throwIfLost()
  }

  /** Makes the lease last at least this long from now. @throws LockLostError, RedisUnavailableError */
  extend(leaseMs: number): Promise<void> {
    const { entry, session } = this.of
    session.lastHolders.noteLease(leaseMs)
    return entry.serial.runExclusive(async () => {
      this.throwIfLost()
      if (!this.of.isReleased) {
        await entry.extend(leaseMs)
        this.throwIfLost()
      }
    })
  }

  /** Makes the lease end at most this long from now. Needs the ticket of the entry. @throws as above */
  async shorten(hold: Hold, leaseMs: number): Promise<void> {
    const { entry, session } = this.of
    const { wantedMs = 0 } = entry.state.grant.short ?? {}
    if (wantedMs > 0) {
      // The lease of a grant is shorter than that of the call, perhaps shorter than this one.
      await entry.extend(Math.min(leaseMs, wantedMs))
    }
    // Before the command is sent: trust and renewal must not outlast what it does, if its reply is late or missing.
    entry.state.wantsNoMore()
    hold.renewedMs = 0
    this.ttlMs = this.usualMs
    this.watch?.shorten(session.runtime.now(), leaseMs)
    await entry.shorten(leaseMs)
    this.throwIfLost()
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

  /** Ends every level, as soon as this client can know of the loss. */
  lose(reason: LossReason): void {
    if (this.lossError) {
      return
    }
    if (!this.of.isIdle) {
      this.end()
      this.tellHolders(reason)
    }
    this.of.onLost(reason)
  }

  onRenewalAnswered(): void {
    this.madeLoss?.majority?.afterRenewal()
    this.of.entry.state.transactionIsOver()
  }

  onRenewalFailed(error: unknown): void {
    const { session } = this.of
    if (this.of.isReleased) {
      // The lock lingers: nobody holds it.
      return
    }
    const failingForMs = this.loss.renewalFailed(error, session.runtime.now(), this.watch?.provenAt)
    reportFailedRenewal(session, this, error, failingForMs)
  }

  private tellHolders(reason: LossReason): void {
    const { watch, lockName, owner } = this
    const { session } = this.of
    const isExpired = reason === 'expired' && watch
    const end = isExpired ? this.loss.endOfLease(watch, session.runtime.now(), this.of.isRenewed) : {}
    const error = new LockLostError({ lockName, owner, reason, ...end })
    this.loss.set(error)
    reportLoss(session, this, error)
  }

  /** Every level was released. */
  tellOfLastLevel(): void {
    this.madeLoss?.afterLastLevel?.()
  }
}

/** A RedLock that one of its nodes' holds belongs to. */
interface Majority {
  /** Whether it goes on without this one. */
  readonly isHeld: boolean
  /** A renewal of this one has got its reply. */
  afterRenewal(): void
}

/** Whether and why an acquisition was lost, and the signal that reports it. */
export class Loss {
  error: LockLostError | null = null
  /** Null: it belongs to no RedLock that takes its nodes again. */
  majority: Majority | null = null
  /** Called when its holder has released every level. */
  afterLastLevel: (() => void) | null = null
  private controller: AbortController | null = null
  private failed: { readonly error: unknown; readonly at: number; readonly since: number } | null = null
  private readonly listeners = new Set<() => void>()

  /** Whether the user observes the loss, through the signal or a listener. */
  get isObserved(): boolean {
    return this.controller !== null || this.listeners.size > 0 || this.majority?.isHeld === true
  }

  /** Created on first use: most holds end without a reader of their signal. */
  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController()
      if (this.error) {
        this.controller.abort(this.error)
      }
    }
    return this.controller.signal
  }

  set(error: LockLostError): void {
    this.error = error
    this.controller?.abort(error)
    for (const listener of [...this.listeners]) {
      listener()
    }
  }

  /** For holds of several locks, which need no AbortSignal per lock. Returns a function that removes the listener. */
  onSet(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** A renewal got no reply. Times are monotonic ms. @returns for how long renewals have failed */
  renewalFailed(error: unknown, at: number, provenAt = -Infinity): number {
    const { at: before = -Infinity, since = at } = this.failed ?? {}
    this.failed = { error, at, since: before > provenAt ? since : at }
    return at - this.failed.since
  }

  /** How trust in the lease ran out: details for the error. */
  endOfLease(
    { provenAt, leaseMs }: Pick<Watch, 'provenAt' | 'leaseMs'>,
    now: number,
    renewed: boolean,
  ): { readonly lease: LeaseEnd; readonly cause?: unknown } {
    const lease = { leaseMs, confirmedMsAgo: now - provenAt, renewed }
    // A renewal that failed before a later one succeeded is not the reason.
    return this.failed && this.failed.at > provenAt ? { lease, cause: this.failed.error } : { lease }
  }

  throwIfSet(): void {
    if (this.error) {
      throw this.error
    }
  }
}
