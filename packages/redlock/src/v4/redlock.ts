import { InvalidArgumentError } from '@holdfast/core'
import { EventEmitter } from 'node:events'
import { ResourceLockedError } from '../errors.js'
import { forget, heldBy, keep } from '../held.js'
import { quit } from '../closing.js'
import { checkClients, checkLock, checkRequest, checkWhole } from '../member.js'
import { randomValue, wallNow } from '../process-clock.js'
import { Quorum } from '../quorum.js'
import type { RedisClient } from '../redis-client.js'
import { expirationOf, settingsWith, type Settings } from '../settings.js'
import type { Taken } from '../taken.js'
import { promised, type Callback, type Disposer } from './callback.js'
import { Lock, type LockKeeper } from './lock.js'
import { LockError } from './lock-error.js'

/** All durations in milliseconds. */
export type Options = Partial<Omit<Settings, 'automaticExtensionThreshold' | 'db'>>

const SCRIPTS = ['lockScript', 'unlockScript', 'extendScript']

/**
 * The API of redlock 4 on Holdfast's locks: callbacks, and promises of bluebird. Emits `clientError` for what a Redis
 * client could not answer.
 */
export class Redlock extends EventEmitter implements LockKeeper {
  static readonly Lock = Lock
  static readonly LockError = LockError

  readonly servers: readonly RedisClient[]
  readonly driftFactor: number
  readonly retryCount: number
  readonly retryDelay: number
  readonly retryJitter: number
  readonly #quorum: Quorum

  /**
   * Makes a redlock of these clients, and connects nothing by itself.
   * @throws InvalidArgumentError no client; scripts, because what runs in Redis is Holdfast's
   */
  constructor(clients: readonly RedisClient[], options: Options = {}) {
    super()
    checkClients(clients)
    for (const script of SCRIPTS.filter((name) => name in options)) {
      const value = (options as Record<string, unknown>)[script]
      throw new InvalidArgumentError(script, value, 'left out: the scripts are those of Holdfast')
    }
    const settings = settingsWith(options)
    this.servers = clients
    this.driftFactor = settings.driftFactor
    this.retryCount = settings.retryCount
    this.retryDelay = settings.retryDelay
    this.retryJitter = settings.retryJitter
    this.#quorum = new Quorum(clients, (error) => {
      if (!(error instanceof ResourceLockedError)) {
        this.emit('clientError', error)
      }
    })
  }

  /**
   * Ends the connections of all clients. Locks that are held stay until their `ttl` ends.
   * @throws the error of a client that cannot end its connection
   */
  quit(callback?: Callback<unknown[]>): Promise<unknown[]> {
    return promised(Promise.all(this.servers.map(quit)), callback)
  }

  /**
   * Takes one resource or several for `ttl` ms, and waits for them: by default 10 times 200 ms. The unlock of whoever
   * has one ends the wait.
   * @throws LockError not acquired; InvalidArgumentError
   */
  lock(resource: string | string[], ttl: number, callback?: Callback<Lock>): Promise<Lock> {
    return promised(this.#lock(resource, ttl, {}), callback)
  }

  /** Takes one resource or several: another name of `lock`. @throws as `lock` */
  acquire(resource: string | string[], ttl: number, callback?: Callback<Lock>): Promise<Lock> {
    return this.lock(resource, ttl, callback)
  }

  /**
   * Takes one resource or several as `lock` does, with a `retryCount` and a `retryDelay` of its own; 0 stands for
   * those of the redlock.
   * @throws as `lock`
   */
  lockWithOptions(
    resource: string | string[],
    ttl: number,
    options: Options,
    callback?: Callback<Lock>,
  ): Promise<Lock> {
    return promised(this.#lock(resource, ttl, options), callback)
  }

  /** Takes one resource or several: another name of `lockWithOptions`. @throws as `lock` */
  acquireWithOptions(
    resource: string | string[],
    ttl: number,
    options: Options,
    callback?: Callback<Lock>,
  ): Promise<Lock> {
    return this.lockWithOptions(resource, ttl, options, callback)
  }

  /**
   * Makes what `using` of bluebird takes: it locks as `lock`, and releases at the end. Errors of the release go to
   * the handler.
   */
  disposer(
    resource: string | string[],
    ttl: number,
    errorHandler: (error: Error) => void = () => undefined,
  ): Disposer<Lock> {
    return promised(this.#lock(resource, ttl, {})).disposer((lock) => lock.unlock().catch(errorHandler))
  }

  /**
   * Releases a lock, and waits until all Redis clients have answered.
   * @throws LockError fewer than a quorum still had all of its resources
   */
  unlock(lock: Lock, callback?: Callback<void>): Promise<void> {
    return promised(this.#unlock(lock), callback)
  }

  /** Releases a lock: another name of `unlock`. @throws as `unlock` */
  release(lock: Lock, callback?: Callback<void>): Promise<void> {
    return this.unlock(lock, callback)
  }

  /**
   * Makes a lock last for `ttl` ms from now, at least; meanwhile tries again as the options say, unless it is known to
   * be lost. Resolves with the very lock.
   * @throws LockError; InvalidArgumentError
   */
  extend(lock: Lock, ttl: number, callback?: Callback<Lock>): Promise<Lock> {
    return promised(this.#extend(lock, ttl), callback)
  }

  async #lock(resource: string | string[], ttl: number, options: Options): Promise<Lock> {
    const resources = listOf(resource)
    checkRequest(resources, ttl, 'ttl')
    const { retryCount, retryDelay } = this
    const settings = settingsWith({
      ...this.#settings,
      retryCount: options.retryCount || retryCount,
      retryDelay: options.retryDelay || retryDelay,
    })
    const { log, taken } = await this.#quorum.acquire({ resources, duration: ttl }, settings)
    if (!taken) {
      throw new LockError(`${named(resources)} not locked in ${log.made} attempts.`, log.made)
    }
    const expiration = this.#expirationOf(ttl, taken)
    const lock = new Lock(
      this,
      resources,
      randomValue(),
      expiration,
      log.made,
      settings.retryCount - log.made,
    )
    keep(lock, taken)
    return lock
  }

  async #unlock(lock: Lock): Promise<void> {
    checkLock(lock)
    lock.expiration = 0
    const taken = this.#heldBy(lock)
    if (taken) {
      forget(lock)
      const ballot = this.#quorum.ballot()
      taken.release(ballot)
      await ballot.closed
      if (await ballot.decided) {
        return
      }
    }
    throw new LockError(`${named(listOf(lock.resource))} not released: too few servers still had it.`)
  }

  async #extend(lock: Lock, ttl: number): Promise<Lock> {
    checkLock(lock)
    checkWhole('ttl', ttl)
    const name = named(listOf(lock.resource))
    if (lock.expiration < wallNow()) {
      throw new LockError(`${name} not extended: the lock has already expired.`, 0)
    }
    const taken = this.#heldBy(lock)
    if (!taken) {
      throw new LockError(`${name} not extended: nothing of it is held.`, 1)
    }
    const settings = this.#settings
    const { isDone, log } = await this.#quorum.operate(taken, settings, (ballot) => taken.extend(ttl, ballot))
    if (!isDone) {
      throw new LockError(`${name} not extended in ${log.made} attempts.`, log.made)
    }
    lock.expiration = this.#expirationOf(ttl, taken)
    return lock
  }

  get #settings(): Settings {
    const { driftFactor, retryCount, retryDelay, retryJitter } = this
    return settingsWith({ driftFactor, retryCount, retryDelay, retryJitter })
  }

  #expirationOf(ttl: number, taken: Taken): number {
    return expirationOf({ duration: ttl, driftFactor: this.driftFactor }, taken.trustedForMs, wallNow())
  }

  /** The hold of the lock, as long as it names the resources that were locked. */
  #heldBy(lock: Lock): Taken | undefined {
    const taken = heldBy(lock)
    const resources = listOf(lock.resource)
    const isSame =
      taken?.request.resources.length === resources.length &&
      taken.request.resources.every((name, i) => name === resources[i])
    return isSame ? taken : undefined
  }
}

function listOf(resource: string | string[]): string[] {
  return Array.isArray(resource) ? [...resource] : [resource]
}

function named(resources: readonly string[]): string {
  return `Lock "${resources.join(', ')}"`
}
