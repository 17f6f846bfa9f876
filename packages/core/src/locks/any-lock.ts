import type { AcquireRequest } from '../acquire/acquire-call.js'
import type { AcquireOptions } from '../acquire/acquire-options.js'
import { UnscopedCalls } from '../acquire/unscoped-calls.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkOptions, checkThreadId } from '../arguments/validate.js'
import { siteToAcquire } from '../context/ambient.js'
import type { CallSite } from '../context/context.js'
import { InvalidArgumentError, type LockTimeoutError } from '../errors.js'
import type { LockHold } from '../hold.js'
import { showsOnly } from '../runtime/shows-only.js'
import type { LockServices } from './services.js'
import { refuseIfNotHeld } from './unlock.js'

/** From whom `forceUnlock` takes a lock. */
export interface ForceUnlockOptions {
  /**
   * The only owner to take the lock from: `LockHolder.owner`, as `inspect()` or an error showed it. Default: any
   * owner that holds it when Redis runs the command.
   */
  holder?: string | undefined
}

const FORCE_UNLOCK_OPTIONS: KnownKeys<ForceUnlockOptions> = { holder: true }

export function checkedHolder(options: ForceUnlockOptions): string | undefined {
  checkOptions('options', options, FORCE_UNLOCK_OPTIONS)
  const { holder } = options
  if (holder !== undefined && (typeof (holder as unknown) !== 'string' || holder === '')) {
    throw new InvalidArgumentError('holder', holder, 'the owner that was shown, a non-empty string')
  }
  return holder
}

/** The end of a call for a lock. */
export type Obtained<H> =
  | { readonly kind: 'held'; readonly hold: H }
  | { readonly kind: 'busy'; readonly error: () => LockTimeoutError }

/** Makes the caller's result from what was obtained. */
export type Finish<H, T> = (obtained: Obtained<H>) => T

/**
 * The face that all locks have, of one name or of several. All durations are milliseconds.
 *
 * Two API styles: Redisson's (`lock`, `tryLock`, `unlock`) and JavaScript's (`acquire`, `tryAcquire`, `withLock`).
 * Without a lease, the watchdog renews the lock for as long as it is held.
 */
export abstract class AnyLock<H extends LockHold = LockHold> {
  /** @internal What calls outside contexts hold. */
  protected readonly bare: UnscopedCalls<H>

  /** @internal Created by a client. */
  constructor(
    /** @internal */
    readonly session: LockServices,
    /** The name of the lock, without the `keyPrefix` of the client; of several locks, their names. */
    readonly name: string,
    /** @internal The thread this object is bound to; null: the context around each call. */
    readonly thread: CallSite | null,
  ) {
    this.bare = new UnscopedCalls(session, name)
  }

  /**
   * Waits until the caller holds the lock: without a limit, unless the client has `waitMs`.
   * @param leaseMs the lease, not renewed: Redis frees the lock after it in any case. Default: the client's `leaseMs`, else
   *   renewed until `unlock`
   * @throws LockTimeoutError after the client's `waitMs`; InvalidArgumentError, LockLostError (a re-entry into a lost lock),
   *   SelfDeadlockError, ContextRequiredError, RedisUnavailableError (no answer for `unavailableTimeoutMs`), WrongTypeError,
   *   ClientClosedError
   */
  lock(leaseMs?: number): Promise<H> {
    return this.byHand('lock', { leaseMs }, holdOrThrow)
  }

  /**
   * Tries to acquire the lock, waiting at most `waitMs`.
   * @param waitMs how long to wait, default 0: one attempt
   * @param leaseMs as for `lock`
   * @returns false: another owner holds the lock
   * @throws as `lock`, but no LockTimeoutError
   */
  tryLock(waitMs = 0, leaseMs?: number): Promise<boolean> {
    const tried = this.byHand('tryLock', { waitMs, leaseMs }, isHeld)
    return this.site() ? tried : this.bare.answerOf(tried)
  }

  /**
   * Releases one level and waits for the reply: the level of `hold`, by default the caller's latest.
   * @throws InvalidArgumentError `hold` belongs to another lock
   * @throws NotLockOwnerError the caller holds no level, or the lock was lost; the current holder is unaffected
   * @throws RedisUnavailableError see `LockHold.release`
   */
  async unlock(hold?: H): Promise<void> {
    const mine = hold === undefined ? this.latestHold() : this.ownHold(hold)
    refuseIfNotHeld(mine, await mine.release())
  }

  /**
   * Releases the lock regardless of its owner, or if `holder` is its owner, and notifies the holder if it is a Holdfast
   * client; of several locks, every one. Without `holder` it asks Redis first who that is. Compared in Redis: a holder that
   * came in meanwhile keeps the lock, also when the command is sent again because its reply was lost.
   * @returns whether the owner had it. False: the lock was free, or its holder has just released it
   * @throws HolderChangedError another owner than `holder` has it; InvalidArgumentError, RedisUnavailableError,
   *   WrongTypeError, ClientClosedError
   */
  abstract forceUnlock(options?: ForceUnlockOptions): Promise<boolean>

  /**
   * Asks Redis whether any owner holds the lock; of several, so many that no other caller can acquire it.
   * @throws RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  abstract isLocked(): Promise<boolean>

  /**
   * Asks Redis whether the caller holds the lock.
   * @throws RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  async isHeldByCurrentContext(): Promise<boolean> {
    return (await this.getHoldCount()) > 0
  }

  /**
   * Asks Redis whether a thread of this client holds the lock.
   * @param threadId the `id` of a thread of the client that made this lock
   * @throws InvalidArgumentError; else as `isLocked`
   */
  async isHeldByThread(threadId: number): Promise<boolean> {
    checkThreadId(threadId)
    return (await this.countOfThread(threadId)) > 0
  }

  /**
   * Asks Redis for the number of levels that the caller holds; 0: none.
   * @throws RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  abstract getHoldCount(): Promise<number>

  /**
   * Asks Redis for the lease that is left, ms; -2: the lock is free, -1: it has no expiry.
   * @throws RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  abstract remainTimeToLive(): Promise<number>

  /**
   * Waits until the caller holds the lock: at most `waitMs`, by default the client's, else without a limit.
   * @throws LockTimeoutError another owner still holds it after `waitMs`; the reason of `signal`; else as `lock`
   */
  acquire(options?: AcquireOptions): Promise<H> {
    return this.take(this.request('acquire', options, this.session.options.waitMs), holdOrThrow)
  }

  /**
   * Tries once, or waits up to `waitMs` if given.
   * @returns null: another owner holds the lock
   * @throws as `acquire`, but no LockTimeoutError
   */
  tryAcquire(options?: AcquireOptions): Promise<H | null> {
    return this.take(this.request('tryAcquire', options, 0), holdOrNull)
  }

  /**
   * Runs the callback while the lock is held; waits for it like `acquire`, by default without a limit. Inside, the
   * caller is one logical thread: nested calls re-enter, siblings started together exclude each other.
   * @returns the result of the callback; an error of the callback wins over any other
   * @throws LockLostError the callback succeeded, but the lock was lost meanwhile; `result` is the callback's
   * @throws as `acquire`
   */
  abstract withLock<T>(callback: (hold: H) => Promise<T> | T, options?: AcquireOptions): Promise<T>

  /** @internal Acquires the lock, as the request says. */
  protected abstract take<T>(request: AcquireRequest<H>, finish: Finish<H, T>): Promise<T>

  /** @internal The hold that a plain `unlock()` releases. @throws NotLockOwnerError */
  protected abstract latestHold(): H

  /** @internal @throws InvalidArgumentError it is of another lock */
  protected abstract ownHold(given: unknown): H

  /** @internal The number of levels that Redis has of this client's thread. */
  protected abstract countOfThread(threadId: number): Promise<number>

  /** @internal The Redisson-style calls. */
  protected byHand<T>(method: string, options: AcquireOptions, finish: Finish<H, T>): Promise<T> {
    return this.take(this.request(method, options, this.session.options.waitMs, method), finish)
  }

  private request(
    method: string,
    options: AcquireOptions | undefined,
    defaultWaitMs: number | undefined,
    byHand: string | null = null,
  ): AcquireRequest<H> {
    const site = this.site()
    const unscoped = site ? null : this.bare
    const calledFrom = this.session.reports.origin(method)
    return { options, defaultWaitMs, site, unscoped, byHand, calledFrom, ofCallback: false }
  }

  /** @internal The call site of whoever calls; null outside any context. */
  protected site(): CallSite | null {
    return siteToAcquire(this.session.contexts, this.thread)
  }
}

showsOnly(AnyLock, ['name'])

export function holdOrThrow<H>(obtained: Obtained<H>): H {
  if (obtained.kind === 'busy') {
    throw obtained.error()
  }
  return obtained.hold
}

function holdOrNull<H>(obtained: Obtained<H>): H | null {
  return obtained.kind === 'busy' ? null : obtained.hold
}

function isHeld(obtained: Obtained<unknown>): boolean {
  return obtained.kind === 'held'
}
