import { InvalidArgumentError, LockError, type Hold } from '@holdfast/core'
import { lockClientOf } from '@holdfast/core/siblings'
import { LostLockError, TimeoutError } from './errors.js'
import { resolveOptions, type LockOptions, type ResolvedOptions } from './options.js'
import { every, now, pause, randomIdentifier } from './process-clock.js'
import type { RedisClient } from './redis-client.js'

// The longest wait that one call of Holdfast takes: 24 days.
const LONGEST_MS = 2_147_483_647

/** The `Mutex` of redis-semaphore on a lock of Holdfast, of the name `mutex:<key>` as there. */
export class Mutex {
  /** Unique to this object; the owner in Redis is named by Holdfast. */
  readonly identifier = randomIdentifier()
  readonly #client: RedisClient
  readonly #name: string
  readonly #options: ResolvedOptions<Mutex>
  #hold: Hold | null = null
  #endRefresh: () => void = () => undefined

  /** Makes a mutex of this key, and asks Redis nothing. @throws InvalidArgumentError */
  constructor(client: RedisClient, key: string, options: LockOptions<Mutex> = {}) {
    if (typeof client !== 'object') {
      throw new InvalidArgumentError('client', client, 'a Redis client')
    }
    if (typeof key !== 'string' || key === '') {
      throw new InvalidArgumentError('key', key, 'a non-empty string')
    }
    this.#client = client
    this.#name = `mutex:${key}`
    this.#options = resolveOptions(options)
  }

  /** Whether this object has the mutex and may rely on it: false as soon as it is lost. */
  get isAcquired(): boolean {
    return this.#hold !== null && !this.#hold.isLost
  }

  /** The hold of Holdfast; null while the mutex is not acquired. */
  get hold(): Hold | null {
    return this.#hold
  }

  /**
   * Acquires the mutex, and waits for it at most `acquireTimeout` ms; the release of whoever has it ends the wait. Not
   * reentrant.
   * @throws TimeoutError; the reason of the signal; RedisUnavailableError
   */
  async acquire(signal?: AbortSignal): Promise<void> {
    if (!(await this.tryAcquire(signal))) {
      throw new TimeoutError(`Acquire mutex ${this.#name} timeout`)
    }
  }

  /**
   * Acquires the mutex as `acquire` does, and waits as long.
   * @returns false: not within that time
   * @throws the reason of the signal; RedisUnavailableError
   */
  async tryAcquire(signal?: AbortSignal): Promise<boolean> {
    const hold = await this.#take(signal)
    if (hold) {
      this.stopRefresh()
      this.#hold = hold
      this.#refresh(hold)
    }
    return hold !== null
  }

  /** Ends the refreshing: Redis frees the mutex `lockTimeout` ms after the last time. */
  stopRefresh(): void {
    this.#endRefresh()
    this.#endRefresh = () => undefined
  }

  /**
   * Releases the mutex, and waits until Redis has it; without effect when it is not acquired or was lost.
   * @throws RedisUnavailableError
   */
  async release(): Promise<void> {
    this.stopRefresh()
    const hold = this.#hold
    this.#hold = null
    await hold?.release()
  }

  /** A key that is no lock of Holdfast is somebody else's, as for redis-semaphore; it is looked at again and again. */
  async #take(signal: AbortSignal | undefined): Promise<Hold | null> {
    const { leaseMs, waitMs, retryMs } = this.#options
    const endsAt = now() + waitMs
    // A thread of its own: an acquired mutex is not re-entered.
    const lock = lockClientOf(this.#client).thread().getLock(this.#name)
    for (;;) {
      const leftMs = Math.min(Math.max(0, endsAt - now()), LONGEST_MS)
      try {
        return await lock.tryAcquire({ leaseMs, waitMs: leftMs, signal })
      } catch (error) {
        if (!(error instanceof LockError && error.code === 'WRONG_TYPE')) {
          throw error
        }
        if (leftMs === 0) {
          return null
        }
        await pause(Math.min(retryMs, leftMs))
      }
    }
  }

  #refresh(hold: Hold): void {
    const { refreshMs, leaseMs } = this.#options
    if (refreshMs === 0) {
      return
    }
    let isUnderWay = false
    const refresh = async (): Promise<void> => {
      isUnderWay = true
      // One that fails says nothing yet: Redis is asked again, and the hold ends when its lease may have ended.
      await hold.extend(leaseMs).catch(() => undefined)
      isUnderWay = false
    }
    const ended = every(refreshMs, () => void (isUnderWay || refresh()))
    const lost = (): void => {
      this.stopRefresh()
      void this.#tell(hold.lossError)
    }
    hold.signal.addEventListener('abort', lost, { once: true })
    this.#endRefresh = () => {
      ended()
      hold.signal.removeEventListener('abort', lost)
    }
  }

  /** In a promise: what the callback throws is an unhandled rejection, as in redis-semaphore. */
  async #tell(cause: LockError | null): Promise<void> {
    await Promise.resolve()
    this.#options.onLockLost.call(this, new LostLockError(`Lost mutex for key ${this.#name}`, { cause }))
  }
}
