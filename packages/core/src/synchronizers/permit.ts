import { refuseLazy } from '../arguments/lazy-result.js'
import { refuseReleased } from '../arguments/released.js'
import type { Watch } from '@holdfast/watchdog'
import type { HoldPublication } from '../diagnostics/hold-publication.js'
import { LockLostError, type LeaseEnd, type LossReason } from '../errors.js'
import { Loss } from '../acquire/held-lease.js'
import type { SynchronizerServices } from './services.js'
import { checkGivenLease } from '../arguments/validate.js'
import type { WhenWritten } from '../runtime/release-waits.js'
import { showsOnly } from '../runtime/shows-only.js'

const WHAT = 'Permit of'

/** The grant of a permit. */
export interface PermitGrant {
  /** Monotonic ms. */
  readonly sentAt: number
  readonly semaphoreEndsInMs: number
}

/** The semaphore, as a permit needs it. */
export interface PermitHome {
  readonly name: string
  /** The key in Redis. */
  readonly key: string
  /** Resolves with the time left, ms; 0: expired. Never shortens the lease. */
  renew(id: string, leaseMs: number, timeoutMs: number): Promise<number>
  updateLeaseTime(id: string, leaseMs: number): Promise<boolean>
  tryRelease(id: string): Promise<boolean>
}

/** A held permit: its signal aborts before another caller can acquire it. */
export class Permit {
  /** @internal */
  readonly kind = 'permit'
  private watch: Watch | null = null
  private renews = false
  private released = false
  /** Monotonic ms. Trust ends by then, whatever the lease. */
  private semaphoreEndsAt = Infinity
  private publication: HoldPublication | null = null
  /** An update has no answer: not yet, or for good. */
  private isUpdating = false
  private updates: Promise<unknown> = Promise.resolve()
  private readonly loss = new Loss()

  /** @internal Created by a semaphore. */
  constructor(
    private readonly session: SynchronizerServices,
    private readonly home: PermitHome,
    /** Its id in Redis: 32 hex characters. */
    readonly id: string,
    /** @internal The lease that a renewal sets, ms. */
    readonly ttlMs: number,
  ) {}

  /** @internal */
  get key(): string {
    return this.home.key
  }

  /** The name of the semaphore. */
  get lockName(): string {
    return this.home.name
  }

  /** @internal */
  get owner(): string {
    return this.id
  }

  /** Aborts with a LockLostError when the permit ends without having been released. */
  get signal(): AbortSignal {
    return this.lossByNow.signal
  }

  /** Why the permit was lost; null while it is not. */
  get lossError(): LockLostError | null {
    return this.lossByNow.error
  }

  /** Whether the permit was lost. Like `signal.aborted`, without creating a signal. */
  get isLost(): boolean {
    return this.lossError !== null
  }

  /** How long the permit may still be used, ms. */
  get trustedForMs(): number {
    return this.lossByNow.error || this.released ? 0 : (this.watch?.trustedForMs ?? 0)
  }

  /**
   * Makes the lease end `leaseMs` from now; a renewed permit continues to be renewed. One update at a time.
   * @throws LockLostError; RedisUnavailableError whether it took effect is unknown, and the permit is no longer
   *   renewed
   */
  async updateLease(ms: number): Promise<void> {
    checkGivenLease('ms', ms)
    return this.afterUpdates(() => this.update(ms))
  }

  /**
   * Makes the lease last at least `ms` from now; never shortens it.
   * @throws LockLostError, RedisUnavailableError, NotLockOwnerError after a release
   */
  async extend(ms: number): Promise<void> {
    checkGivenLease('ms', ms)
    return this.afterUpdates(() => this.ask(ms))
  }

  /**
   * Asks Redis whether the permit is still held. Call it right before the critical write.
   * @throws LockLostError it is not; RedisUnavailableError no reply: the answer is unknown; NotLockOwnerError after a release
   */
  async verify(): Promise<void> {
    return this.afterUpdates(() => this.ask(0))
  }

  /** Releases the permit. Resolves also if it has expired or was released before. @throws RedisUnavailableError */
  async release(): Promise<'released' | 'lost' | 'already-released'> {
    if (this.released) {
      return 'already-released'
    }
    this.end()
    if (this.loss.error) {
      return 'lost'
    }
    try {
      const isReleased = await this.home.tryRelease(this.id)
      if (isReleased) {
        this.publication?.ended('released')
      } else {
        this.publication?.lost('gone', this.session.runtime.now())
      }
      return isReleased ? 'released' : 'lost'
    } catch (error) {
      this.publication?.ended('unknown')
      throw error
    }
  }

  /**
   * Releases the permit, for `await using`; waits for the reply as `withLock` does.
   * @throws LockLostError it was lost; RedisUnavailableError as `release`, if known in time
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if ((await this.releaseInTime()) === 'lost') {
      throw this.loss.error ?? this.lostBy('gone')
    }
  }

  /** @internal */
  get whenWritten(): WhenWritten | null {
    const { session, key } = this
    return this.trustedForMs > 0 && !this.isUpdating ? (tell) => session.runner.whenWritten(key, tell) : null
  }

  /** @internal The outcome of the release; null: not known within `releaseWaitMs`; it continues in the background. */
  releaseInTime(): Promise<'released' | 'lost' | 'already-released' | null> {
    return this.session.releaseWaits.leave(this)
  }

  /** @internal */
  begin({ sentAt, semaphoreEndsInMs }: PermitGrant, renew: boolean): this {
    this.semaphoreEndsAt = sentAt + semaphoreEndsInMs
    this.session.borrowedPermits.add(this)
    this.renews = renew
    this.trust(sentAt, this.ttlMs, renew)
    this.publication = this.session.reports.held(this, this.id, this.session.runtime.now())
    return this
  }

  /** @internal */
  async renewItself(timeoutMs: number): Promise<'renewed' | 'lost'> {
    return (await this.home.renew(this.id, this.ttlMs, timeoutMs)) > 0 ? 'renewed' : 'lost'
  }

  /** @internal */
  async remaining(timeoutMs: number, atLeastMs = 0): Promise<number | null> {
    const semaphoreLeftMs = this.semaphoreEndsAt - this.session.runtime.now()
    const leftMs = Math.min(await this.home.renew(this.id, atLeastMs, timeoutMs), semaphoreLeftMs)
    return leftMs > 0 ? leftMs : null
  }

  /** @internal */
  onLost(why: 'expired' | 'refused'): void {
    this.lose(why === 'expired' ? why : 'gone')
  }

  /** @internal */
  onRenewalFailed(error: unknown): void {
    const failingForMs = this.loss.renewalFailed(error, this.session.runtime.now(), this.watch?.provenAt)
    this.session.outages.renewalFailed(error, failingForMs)
  }

  /** @internal */
  async releaseOnClose(): Promise<void> {
    this.lose('closed')
    await this.home.tryRelease(this.id)
  }

  private afterUpdates(work: () => Promise<void>): Promise<void> {
    const update = this.updates.then(work)
    this.updates = update.catch(() => undefined)
    return update
  }

  /** Asks Redis for the time left, after it was made to last so long. */
  private async ask(atLeastMs: number): Promise<void> {
    this.throwIfOver()
    const { runtime, options } = this.session
    const sentAt = runtime.now()
    const leftMs = await this.remaining(options.commandTimeout, atLeastMs)
    this.throwIfOver()
    if (leftMs === null) {
      this.lose('gone')
    } else if (atLeastMs > 0) {
      this.watch?.confirm(sentAt, leftMs)
    } else {
      // With replicas a question adds no trust, as for a hold.
      this.watch?.correct(sentAt, leftMs, { mayGrow: !options.replicas })
    }
    this.loss.throwIfSet()
  }

  private throwIfOver(): void {
    this.lossByNow.throwIfSet()
    const { released: wasReleased, lockName, id: owner } = this
    refuseReleased({ wasReleased, lockName, owner }, 'permit')
  }

  private async update(ms: number): Promise<void> {
    this.loss.throwIfSet()
    const sentAt = this.session.runtime.now()
    const { trustedForMs } = this
    if (trustedForMs > 0) {
      // The permit may end by then once this is sent, whenever the reply arrives (I3). Without renewal: one that runs
      // before a late copy of the update would be trusted for longer than that leaves.
      this.trust(sentAt, Math.min(ms, trustedForMs), false)
    }
    this.isUpdating = true
    const isHeld = await this.home.updateLeaseTime(this.id, ms)
    this.isUpdating = false
    if (!isHeld) {
      this.lose('gone')
    }
    this.loss.throwIfSet()
    if (!this.released) {
      this.trust(sentAt, ms, this.renews)
    }
  }

  /** The holder may read the loss before the watchdog's timer runs. */
  private get lossByNow(): Loss {
    this.session.watchdog.endOverdueTrust()
    return this.loss
  }

  /** Replaces the trust: replies to requests from before are void with it. */
  private trust(sentAt: number, ttlMs: number, renew: boolean): void {
    this.watch?.stop()
    const leftMs = Math.max(0, this.semaphoreEndsAt - sentAt)
    this.watch = this.session.watchdog.watch(this, {
      sentAt,
      renew,
      ttlMs: Math.min(ttlMs, leftMs),
      // A renewal is trusted for all that it asks for (I3).
      renewForMs: Math.max(0, leftMs - this.ttlMs),
    })
  }

  private lose(reason: LossReason): void {
    if (this.released || this.loss.error) {
      return
    }
    this.watch?.stop()
    this.session.borrowedPermits.remove(this)
    const { watch, session } = this
    const end =
      watch && reason === 'expired' ? this.loss.endOfLease(watch, session.runtime.now(), this.renews) : {}
    const error = this.lostBy(reason, end)
    this.loss.set(error)
    this.session.events.emit('lost', { lockName: this.home.name, owner: this.id, error })
    this.publication?.lost(reason, this.session.runtime.now())
    if (reason === 'expired') {
      // Redis may still have it, and a renewal without a reply may have extended it by a whole lease.
      this.session.background.run(this.home.tryRelease(this.id).catch(() => undefined))
    }
  }

  /** Renewal stops before the command is sent. */
  private end(): void {
    this.released = true
    this.watch?.stop()
    this.session.borrowedPermits.remove(this)
    this.publication?.over(this.session.runtime.now())
  }

  private lostBy(reason: LossReason, end: { lease?: LeaseEnd; cause?: unknown } = {}): LockLostError {
    return new LockLostError({ lockName: this.home.name, owner: this.id, reason, ...end }, WHAT)
  }
}

showsOnly(Permit, ['lockName', 'id', 'trustedForMs'])

/** Runs the callback with a permit and releases it. An error of the callback wins over a loss. */
export async function withPermit<T>(
  permit: Permit,
  callback: (permit: Permit) => Promise<T> | T,
): Promise<T> {
  let result: T
  try {
    result = refuseLazy('callback', await callback(permit))
  } catch (error) {
    await permit.releaseInTime().catch(() => undefined)
    throw error
  }
  // Like withLock: a failed release does not hide the result.
  const outcome = await permit.releaseInTime().catch(() => null)
  if (outcome === 'lost') {
    const { lossError } = permit
    const { lockName, id: owner } = permit
    const reason = lossError?.reason ?? 'gone'
    throw new LockLostError({ lockName, owner, reason, result, cause: lossError }, WHAT)
  }
  return result
}
