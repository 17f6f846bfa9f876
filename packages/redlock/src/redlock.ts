import { InvalidArgumentError } from '@holdfast/core'
import { EventEmitter } from 'node:events'
import { checkDatabase, databaseOf, ownDatabaseOf, quitWithDatabases } from './databases.js'
import { ExecutionError } from './errors.js'
import { forget, heldBy, keep } from './held.js'
import { Lock, type ExecutionResult, type LockKeeper } from './lock.js'
import { checkClients, checkLock, checkRequest, checkWhole } from './member.js'
import { randomValue, wallNow } from './process-clock.js'
import { Quorum, type Outcome } from './quorum.js'
import type { RedisClient } from './redis-client.js'
import type { AttemptLog } from './retry.js'
import { expirationOf, settingsWith, type Settings } from './settings.js'
import type { Taken } from './taken.js'
import { runUsing, type Routine } from './using.js'

const NO_QUORUM = 'The operation was unable to achieve a quorum during its retry window.'

/**
 * The API of redlock 5 on Holdfast's locks. Emits `error` for each vote against, ResourceLockedError included; nobody
 * has to listen.
 */
export class Redlock extends EventEmitter implements LockKeeper {
  readonly clients: Set<RedisClient>
  readonly settings: Settings
  readonly #quorum: Quorum

  /**
   * Makes a redlock of these clients, and connects nothing by itself.
   * @param clients one for each independent Redis or cluster; they stay the caller's to close, see `quit`
   * @throws InvalidArgumentError without a client; for scripts, because what runs in Redis is Holdfast's; for a `db` that
   * a client cannot be opened for
   */
  constructor(clients: Iterable<RedisClient>, settings: Partial<Settings> = {}, scripts?: object) {
    super()
    this.clients = new Set(checkClients(clients))
    if (scripts !== undefined && Object.keys(scripts).length > 0) {
      throw new InvalidArgumentError('scripts', scripts, 'left out: the scripts are those of Holdfast')
    }
    const [first] = this.clients
    const db = databaseOf(settings.db)
    if (db !== undefined) {
      this.clients.forEach((client) => checkDatabase(client, db))
    }
    this.settings = { ...settingsWith(settings), db: db ?? ownDatabaseOf(first) }
    // Without a listener an event of this name would be thrown.
    this.on('error', () => undefined)
    this.#quorum = new Quorum(this.clients, (error) => this.emit('error', error), db)
  }

  /**
   * Ends the connections of all clients. Locks that are held stay until their durations end.
   * @throws the error of a client that cannot end its connection
   */
  async quit(): Promise<void> {
    await Promise.all([...this.clients].map(quitWithDatabases))
  }

  /**
   * Takes all resources for `duration` ms, and waits for them as the settings say: by default 10 times 200 ms. The
   * unlock of whoever has one ends the wait.
   * @throws ExecutionError not acquired; InvalidArgumentError
   */
  async acquire(resources: string[], duration: number, settings?: Partial<Settings>): Promise<Lock> {
    checkRequest(resources, duration, 'duration')
    const used = settingsWith(settings, this.settings)
    const { log, taken } = await this.#quorum.acquire({ resources: [...resources], duration }, used)
    if (!taken) {
      throw new ExecutionError(NO_QUORUM, log.attempts)
    }
    const { driftFactor } = used
    const expiration = expirationOf({ duration, driftFactor }, taken.trustedForMs, wallNow())
    return this.#lockOf(taken, new Lock(this, resources, randomValue(), log.attempts, expiration, settings))
  }

  /**
   * Releases a lock, and waits until a quorum has answered.
   * @throws ExecutionError fewer than a quorum still had it
   */
  async release(lock: Lock, settings?: Partial<Settings>): Promise<ExecutionResult> {
    checkLock(lock)
    lock.expiration = 0
    const start = wallNow()
    const taken = heldBy(lock)
    forget(lock)
    // Once: what Redis does not answer, Holdfast sends again by itself.
    const once = { ...settingsWith(settings, this.settings), retryCount: 0 }
    const { attempts } = taken
      ? await this.#quorum.operate(taken, once, (ballot) => taken.release(ballot)).then(agreed)
      : agreed(this.#quorum.refuse(lock.resources.length))
    return { attempts, start }
  }

  /**
   * Makes a lock last for `duration` ms from now, at least, and waits until a quorum has agreed; meanwhile tries again
   * as the settings say, unless it is known to be lost. Resolves with a lock that replaces `existing`.
   * @throws ExecutionError; InvalidArgumentError
   */
  async extend(existing: Lock, duration: number, settings?: Partial<Settings>): Promise<Lock> {
    checkLock(existing)
    checkWhole('duration', duration)
    if (existing.expiration < wallNow()) {
      throw new ExecutionError('Cannot extend an already-expired lock.', [])
    }
    const used = settingsWith(settings, this.settings)
    const taken = heldBy(existing)
    if (!taken) {
      throw new ExecutionError(NO_QUORUM, this.#quorum.refuse(existing.resources.length).log.attempts)
    }
    const extended = await this.#quorum.operate(taken, used, (ballot) => taken.extend(duration, ballot))
    const { attempts } = agreed(extended)
    // It can still be released, as with redlock: many programs do not keep what extend returns.
    existing.expiration = 0
    const { driftFactor } = used
    const expiration = expirationOf({ duration, driftFactor }, taken.trustedForMs, wallNow())
    const { resources, value } = existing
    return this.#lockOf(taken, new Lock(this, resources, value, attempts, expiration, existing.settings))
  }

  /**
   * Runs the routine while it holds all resources, extends the lock before it ends, and releases it. The signal
   * aborts as soon as the lock is lost, before anybody else can have it; `signal.error` says why.
   * @throws what the routine throws; ExecutionError not acquired, or lost before the end; InvalidArgumentError
   */
  using<T>(
    resources: string[],
    duration: number,
    settings: Partial<Settings>,
    routine?: Routine<T>,
  ): Promise<T>
  using<T>(resources: string[], duration: number, routine: Routine<T>): Promise<T>
  async using<T>(
    resources: string[],
    duration: number,
    settingsOrRoutine: Partial<Settings> | Routine<T>,
    optionalRoutine?: Routine<T>,
  ): Promise<T> {
    checkWhole('duration', duration)
    const routine = optionalRoutine ?? settingsOrRoutine
    if (typeof routine !== 'function') {
      throw new InvalidArgumentError('routine', routine, 'a function')
    }
    const own = typeof settingsOrRoutine === 'function' ? undefined : settingsOrRoutine
    const { automaticExtensionThreshold: threshold } = settingsWith(own, this.settings)
    if (threshold > duration - 100) {
      throw new InvalidArgumentError(
        'duration',
        duration,
        `100 ms more than automaticExtensionThreshold, ${threshold}`,
      )
    }
    return runUsing(await this.acquire(resources, duration, own), { duration, threshold }, routine)
  }

  #lockOf(taken: Taken, lock: Lock): Lock {
    keep(lock, taken)
    return lock
  }
}

/** The attempts of an operation. @throws ExecutionError unless a quorum has agreed */
function agreed({ isDone, log }: Outcome): AttemptLog {
  if (!isDone) {
    throw new ExecutionError(NO_QUORUM, log.attempts)
  }
  return log
}
