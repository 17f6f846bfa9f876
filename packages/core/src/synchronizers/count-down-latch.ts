import type { Attempt, WaitRequest } from '@holdfast/waiter'
import { unavailableOrThrow } from '../acquire/call-in-progress.js'
import { latchChannel, localName } from '../keys.js'
import { unansweredWait } from '../redis/failures.js'
import {
  cancel,
  getCounter,
  trySet,
  type AnnouncedArguments,
  type OperationStamp,
} from '../scripts/counter.js'
import { countDown, deleteLatch } from '../scripts/latch.js'
import type { SynchronizerServices } from './services.js'
import { checkOptions } from '../arguments/validate.js'
import type { ReportedWait } from '../diagnostics/wait-reporter.js'
import type { CountedCommands, Subject } from './counted-commands.js'
import type { OncePerTurn } from './once-per-turn.js'
import { checkCount } from './permit-arguments.js'
import { namingKind } from './wrong-kind.js'
import { limitWait, WAIT_OPTIONS, waitLimits, type WaitOptions } from './wait-limits.js'
import { showsOnly } from '../runtime/shows-only.js'

const WHAT = 'a count-down latch'

/**
 * Releases all waiters once it has been counted down to zero: Redisson's RCountDownLatch. A latch that does not exist
 * is open.
 */
export class CountDownLatch {
  private readonly key: string
  private readonly channel: string

  /** @internal Created by a client. */
  constructor(
    private readonly session: SynchronizerServices,
    private readonly commands: CountedCommands,
    private readonly counts: OncePerTurn<number>,
    readonly name: string,
  ) {
    this.key = session.keyPrefix + name
    this.channel = latchChannel(this.key)
  }

  /**
   * Creates the latch, unless it exists.
   * @returns false: it exists already
   * @throws InvalidArgumentError, RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  async trySetCount(count: number): Promise<boolean> {
    checkCount('count', count, 1)
    const what = { value: count, ttlMs: undefined, message: '1' }
    return this.commands.attempt(
      this.subject,
      (stamp) => trySet(this.session.runner, { ...this.announced(stamp), ...what }),
      (stamp) => this.cancel(stamp),
    )
  }

  /**
   * Decrements the count. At 0 the latch is deleted and all waiters pass. No effect without a latch.
   * @throws RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  async countDown(): Promise<void> {
    await this.commands.insist(
      this.subject,
      (stamp) => countDown(this.session.runner, this.announced(stamp)),
      (stamp) => this.cancel(stamp),
    )
  }

  /** Reads the count; 0 without a latch. @throws RedisUnavailableError, WrongTypeError, ClientClosedError */
  async getCount(): Promise<number> {
    const { name: lockName, key } = this
    const operationsKey = this.commands.operations.keyOf(key)
    try {
      return await getCounter(this.session.runner, { lockName, key, operationsKey })
    } catch (error) {
      throw namingKind(error, WHAT)
    }
  }

  /**
   * Waits until the count is 0 or the latch does not exist.
   * @param request how long to wait, ms; or options. Default: no limit
   * @returns false: the time is over, and the latch is still closed. Everything else is an error
   * @throws RedisUnavailableError, WrongTypeError, InvalidArgumentError
   */
  async await(request: number | WaitOptions = {}): Promise<boolean> {
    const options = typeof request === 'number' ? { waitMs: request } : request
    checkOptions('options', options, WAIT_OPTIONS)
    const limits = waitLimits(options, this.session.contexts)
    const { waiter, reports, runtime } = this.session
    const { isUnlimited } = limits
    const waiting: ReportedWait = { lockName: this.name, startedAt: runtime.now(), isUnlimited, what: WHAT }
    const wait: WaitRequest<true> = {
      queue: localName('latch', this.key),
      topic: this.channel,
      shared: true,
      attempt: () => this.look(),
      onParked: (place) => reports.parked(waiting, place),
    }
    try {
      const outcome = await waiter.enter(limitWait(wait, limits)).outcome
      if (outcome.kind === 'unavailable') {
        const waitedMs = runtime.now() - waiting.startedAt
        const { plight } = this.session.runner
        throw unansweredWait(plight, { lockName: this.name, waitedMs }, outcome.error)
      }
      return outcome.kind === 'done'
    } finally {
      reports.waits.ended(waiting)
    }
  }

  /**
   * Deletes the latch: Holdfast's waiters pass, Redisson's go on waiting.
   * @returns false: it did not exist
   * @throws RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  async delete(): Promise<boolean> {
    return this.commands.attempt(
      this.subject,
      (stamp) => deleteLatch(this.session.runner, this.announced(stamp)),
      (stamp) => this.cancel(stamp),
    )
  }

  /** All waiters of this client try together and share one query. */
  private async look(): Promise<Attempt<true>> {
    try {
      const count = await this.counts.ask(this.key, () => this.getCount())
      return count <= 0 ? { kind: 'done', value: true } : { kind: 'refused' }
    } catch (error) {
      return unavailableOrThrow(error)
    }
  }

  private get subject(): Subject {
    return { lockName: this.name, key: this.key, what: WHAT }
  }

  /** A count-down that was counted stays. */
  private cancel(stamp: OperationStamp): Promise<number> {
    return cancel(this.session.runner, { ...this.announced(stamp), unit: 0 })
  }

  private announced(stamp: OperationStamp): AnnouncedArguments {
    const { name: lockName, key, channel } = this
    return { lockName, key, stamp, channel }
  }
}

showsOnly(CountDownLatch, ['name'])
