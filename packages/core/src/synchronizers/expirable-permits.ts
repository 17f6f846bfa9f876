import { permitsChannel, permitTimeouts } from '../keys.js'
import { cancel, trySet, type OperationStamp } from '../scripts/counter.js'
import {
  countPermits,
  setPermits,
  type PermitCounts,
  type PermitArguments,
} from '../scripts/permit-semaphore.js'
import { addPermits } from '../scripts/semaphore.js'
import type { SynchronizerServices } from './services.js'
import { checkLease } from '../arguments/validate.js'
import type { CountedCommands, Subject } from './counted-commands.js'
import { checkCount } from './permit-arguments.js'
import { namingKind } from './wrong-kind.js'
import { showsOnly } from '../runtime/shows-only.js'

const WHAT = 'a permit-expirable semaphore'

type Command<R> = (given: PermitArguments) => Promise<R>

/** The permit counts of a permit-expirable semaphore, across all owners. */
export abstract class ExpirablePermits {
  /** @internal */
  readonly key: string
  /** @internal */
  protected readonly timeoutsKey: string
  /** @internal */
  protected readonly channel: string

  /** @internal Created by a client. */
  constructor(
    /** @internal */
    protected readonly session: SynchronizerServices,
    /** @internal */
    protected readonly commands: CountedCommands,
    readonly name: string,
  ) {
    this.key = session.keyPrefix + name
    this.timeoutsKey = permitTimeouts(this.key)
    this.channel = permitsChannel(this.key)
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
    const what = { value: permits, ttlMs, message: `${permits}` }
    return this.attempt((given) => trySet(this.session.runner, { ...given, ...what }))
  }

  /** Sets the total: what is available may go below 0 until enough permits are released. */
  async setPermits(permits: number): Promise<void> {
    checkCount('permits', permits, 0)
    return this.attempt((given) => setPermits(this.session.runner, { ...given, permits }))
  }

  /** Adds permits, or removes some. Keeps the semaphore's time to live. */
  async addPermits(permits: number): Promise<void> {
    checkCount('permits', permits, -2_147_483_648)
    return this.attempt((given) => addPermits(this.session.runner, { ...given, permits, keepsTtl: true }))
  }

  /** @internal */
  protected async counts(): Promise<PermitCounts> {
    const { timeoutsKey, channel } = this
    const given = { ...this.subject, timeoutsKey, channel }
    try {
      return await countPermits(this.session.runner, given)
    } catch (error) {
      throw namingKind(error, WHAT)
    }
  }

  /** @internal */
  protected attempt<R>(command: Command<R>): Promise<R> {
    return this.commands.attempt(
      this.subject,
      (stamp) => command(this.permits(stamp)),
      (stamp) => this.keepFromRunning(stamp),
    )
  }

  /** @internal A command that has taken effect stays. */
  protected keepFromRunning(stamp: OperationStamp): Promise<number> {
    return cancel(this.session.runner, { ...this.permits(stamp), unit: 0 })
  }

  /** @internal */
  protected get subject(): Subject {
    return { lockName: this.name, key: this.key, what: WHAT }
  }

  /** @internal */
  protected permits(stamp: OperationStamp): PermitArguments {
    const { timeoutsKey, channel } = this
    return { ...this.subject, timeoutsKey, stamp, channel }
  }
}

showsOnly(ExpirablePermits, ['name'])
