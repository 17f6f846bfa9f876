import { permitsChannel, permitTimeouts } from '../keys.js'
import {
  countPermits,
  setPermits,
  type PermitCounts,
  type PermitArguments,
} from '../scripts/permit-semaphore.js'
import { addPermits } from '../scripts/semaphore.js'
import type { SynchronizerServices } from './services.js'
import { checkLease } from '../arguments/validate.js'
import type { CountedCommands } from './counted-commands.js'
import { Counter } from './counter.js'
import { checkCount } from './permit-arguments.js'
import { namingKind } from './wrong-kind.js'
import { showsOnly } from '../runtime/shows-only.js'

/** The permit counts of a permit-expirable semaphore, across all owners. */
export abstract class ExpirablePermits {
  /** @internal */
  readonly key: string
  /** @internal */
  protected readonly counter: Counter<PermitArguments>

  /** @internal Created by a client. */
  constructor(
    /** @internal */
    protected readonly session: SynchronizerServices,
    commands: CountedCommands,
    readonly name: string,
  ) {
    const key = session.keyPrefix + name
    const keys = { key, timeoutsKey: permitTimeouts(key), channel: permitsChannel(key) }
    this.key = key
    this.counter = new Counter(session, commands, {
      lockName: name,
      ...keys,
      what: 'a permit-expirable semaphore',
    })
  }

  /** Permits that can be acquired now. */
  async availablePermits(): Promise<number> {
    return (await this.counts()).free
  }

  /** Permits that are held. */
  async acquiredPermits(): Promise<number> {
    return (await this.counts()).held
  }

  /** Permits in total. */
  async getPermits(): Promise<number> {
    const { free, held } = await this.counts()
    return free + held
  }

  /** Creates the semaphore, unless it exists. @returns false: it exists already */
  async trySetPermits(permits: number, ttlMs?: number): Promise<boolean> {
    checkCount('permits', permits, 0)
    checkLease('ttlMs', ttlMs)
    return this.counter.trySet({ value: permits, ttlMs, message: `${permits}` })
  }

  /** Sets the total: what is available may go below 0 until enough permits are released. */
  async setPermits(permits: number): Promise<void> {
    checkCount('permits', permits, 0)
    return this.counter.attempt((given) => setPermits(this.session.runner, { ...given, permits }))
  }

  /** Adds permits, or removes some. Keeps the semaphore's time to live. */
  async addPermits(permits: number): Promise<void> {
    checkCount('permits', permits, -2_147_483_648)
    return this.counter.attempt((given) =>
      addPermits(this.session.runner, { ...given, permits, keepsTtl: true }),
    )
  }

  /** @internal */
  protected async counts(): Promise<PermitCounts> {
    const { subject } = this.counter
    try {
      return await countPermits(this.session.runner, subject)
    } catch (error) {
      throw namingKind(error, subject.what)
    }
  }
}

showsOnly(ExpirablePermits, ['name'])
