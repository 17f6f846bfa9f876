import { localName, permitsChannel } from '../keys.js'
import { acquirePermits, addPermits, drain, releasePermits } from '../scripts/semaphore.js'
import type { SynchronizerServices } from './services.js'
import { checkWork } from '../arguments/lazy-result.js'
import { checkLease } from '../arguments/validate.js'
import type { CountedCommands } from './counted-commands.js'
import { Counter } from './counter.js'
import { checkCount, optionsOf } from './permit-arguments.js'
import { PermitWait, type PermitSource, type Take } from './permit-wait.js'
import { permitLimits, type PermitOptions } from './wait-limits.js'
import { withPermits } from './with-permits.js'
import { showsOnly } from '../runtime/shows-only.js'

/**
 * Limits concurrency to its number of permits: Redisson's RSemaphore. A permit has no owner and no lease: any caller
 * may release one, and those of a crashed process are missing until they are added again.
 * `getPermitExpirableSemaphore` has permits with leases.
 */
export class Semaphore {
  private readonly counter: Counter

  /** @internal Created by a client. */
  constructor(
    private readonly session: SynchronizerServices,
    commands: CountedCommands,
    readonly name: string,
  ) {
    const key = session.keyPrefix + name
    const subject = { lockName: name, key, channel: permitsChannel(key), what: 'a semaphore' }
    this.counter = new Counter(session, commands, subject)
  }

  /**
   * Waits until enough permits are free, and acquires them: by default without a limit, unless the client has
   * `waitMs`. Callers of one client form one queue.
   * @param request number of permits, default 1; or options
   * @throws LockTimeoutError the wait ended; LockBusyError too many wait; RedisUnavailableError, WrongTypeError, InvalidArgumentError,
   *   ClientClosedError
   */
  async acquire(request: number | PermitOptions = {}): Promise<void> {
    const options = optionsOf(request)
    const wait = this.waitFor(options)
    if (wait && !(await wait.obtain())) {
      throw wait.timedOut()
    }
  }

  /**
   * Tries to acquire permits: without a wait, one attempt outside the queue.
   * @param request number of permits, default 1; or options
   * @param waitMs how long to wait, ms, default 0; Redisson's form
   * @returns false: too few permits are free
   * @throws as `acquire`, but no LockTimeoutError
   */
  async tryAcquire(request: number | PermitOptions = {}, waitMs = 0): Promise<boolean> {
    const { waitMs: limitMs = waitMs, ...others } = optionsOf(request)
    const wait = this.waitFor({ ...others, waitMs: limitMs })
    return !wait || (await wait.obtain()) !== null
  }

  /**
   * Acquires permits, runs the callback, and releases them in any case; waits like `acquire`, by default without a
   * limit. The signal aborts when the client is closed meanwhile; the permits are then released.
   * @throws the callback's error; else as `acquire`
   */
  async withPermits<T>(
    callback: (signal: AbortSignal) => Promise<T> | T,
    options: PermitOptions = {},
  ): Promise<T> {
    checkWork('callback', callback)
    const { permits = 1 } = optionsOf(options)
    const { key } = this.counter.subject
    const acquire = (): Promise<void> => this.acquire(options)
    const release = (): Promise<void> => this.release(permits)
    return withPermits(this.session, { lockName: this.name, key, acquire, release }, callback)
  }

  /**
   * Releases permits, whether or not this caller acquired them. Creates a missing semaphore, as Redisson does.
   * @throws InvalidArgumentError, RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  async release(permits = 1): Promise<void> {
    await this.sendRelease(permits, false)
  }

  /**
   * Releases permits of an existing semaphore.
   * @returns false: the semaphore does not exist, and was not created
   * @throws InvalidArgumentError, RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  releaseIfExists(permits = 1): Promise<boolean> {
    return this.sendRelease(permits, true)
  }

  /** Reads how many permits can be acquired now. @throws RedisUnavailableError, WrongTypeError, ClientClosedError */
  availablePermits(): Promise<number> {
    return this.counter.read()
  }

  /** Acquires all free permits. @returns how many @throws RedisUnavailableError, WrongTypeError, ClientClosedError */
  drainPermits(): Promise<number> {
    return this.counter.attempt((given) => drain(this.session.runner, given), 1)
  }

  /**
   * Creates the semaphore, unless it exists.
   * @param ttlMs lifetime of the whole semaphore; default: no expiry
   * @returns false: it exists already
   * @throws InvalidArgumentError, RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  async trySetPermits(permits: number, ttlMs?: number): Promise<boolean> {
    checkCount('permits', permits, 0)
    checkLease('ttlMs', ttlMs)
    return this.counter.trySet({ value: permits, ttlMs, message: `${permits}` })
  }

  /**
   * Adds permits, or removes some: what is available may go below 0 until enough are released. Removes a time to
   * live.
   * @throws InvalidArgumentError, RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  async addPermits(permits: number): Promise<void> {
    checkCount('permits', permits, -2_147_483_648)
    return this.counter.attempt((given) =>
      addPermits(this.session.runner, { ...given, permits, keepsTtl: false }),
    )
  }

  /** Null: no permits are wanted. */
  private waitFor(options: PermitOptions): PermitWait<true> | null {
    const { permits = 1 } = options
    checkCount('permits', permits, 0)
    const limits = permitLimits(options, this.session.contexts, this.session.options)
    limits.signal?.throwIfAborted()
    this.session.assertOpen(this.name)
    if (permits === 0) {
      return null
    }
    return new PermitWait(this.session, this.counter.commands, this.sourceOf(permits), limits)
  }

  private sourceOf(permits: number): PermitSource<true> {
    const { session, counter } = this
    const { key, channel } = counter.subject
    return {
      kind: 'semaphore',
      ...counter.subject,
      queue: localName('permits', key),
      topic: channel,
      permits,
      take: async (stamp): Promise<Take<true>> => {
        const reply = await acquirePermits(session.runner, { ...counter.argumentsOf(stamp), permits })
        return reply.kind === 'taken' ? { ...reply, value: true } : reply
      },
      cancel: (stamp) => counter.cancel(stamp, permits),
    }
  }

  private async sendRelease(permits: number, onlyIfExists: boolean): Promise<boolean> {
    checkCount('permits', permits, 0)
    if (permits === 0) {
      return true
    }
    return this.counter.insist((given) =>
      releasePermits(this.session.runner, { ...given, permits, onlyIfExists }),
    )
  }
}

showsOnly(Semaphore, ['name'])
