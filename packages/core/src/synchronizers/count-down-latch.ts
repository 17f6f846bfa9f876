import type { Attempt, WaitRequest } from '@holdfast/waiter'
import { unavailableOrThrow } from '../acquire/call-in-progress.js'
import { latchChannel, localName } from '../keys.js'
import { unansweredWait } from '../redis/failures.js'
import { cancel, getCounter, trySet, type AnnouncedCommand, type OperationStamp } from '../scripts/counter.js'
import { countDown, deleteLatch } from '../scripts/latch.js'
import type { Session } from '../client/session.js'
import { checkOptions } from '../arguments/validate.js'
import type { ReportedWait } from '../diagnostics/wait-reporter.js'
import type { CountedCommands, Subject } from './counted-commands.js'
import type { OncePerTurn } from './once-per-turn.js'
import { checkCount } from './permit-arguments.js'
import { namingKind } from './wrong-kind.js'
import { limitWait, WAIT_OPTIONS, waitLimits, type WaitOptions } from './wait-limits.js'

const WHAT = 'a count-down latch'

/** Waits until so many things have happened: Redisson's RCountDownLatch. A latch that is not there is open. */
export class CountDownLatch {
  private readonly key: string
  private readonly channel: string

  /** @internal Latches come from a client. */
  constructor(
    private readonly session: Session,
    private readonly commands: CountedCommands,
    private readonly counts: OncePerTurn<number>,
    readonly name: string,
  ) {
    this.key = session.keyPrefix + name
    this.channel = latchChannel(this.key)
  }

  /** Makes the latch, unless there is one. @returns false: there is one already */
  async trySetCount(count: number): Promise<boolean> {
    checkCount('count', count, 1)
    const what = { value: count, ttlMs: undefined, message: '1' }
    return this.commands.attempt(
      this.subject,
      (stamp) => trySet(this.session.runner, { ...this.announced(stamp), ...what }),
      (stamp) => this.cancel(stamp),
    )
  }

  /** One less. At 0 the latch is gone and everybody who waits passes. Where there is no latch, nothing. */
  async countDown(): Promise<void> {
    await this.commands.insist(
      this.subject,
      (stamp) => countDown(this.session.runner, this.announced(stamp)),
      (stamp) => this.cancel(stamp),
    )
  }

  /** 0 where there is no latch. */
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
   * Waits until the count is 0, or there is no latch any more.
   * @param request how long to wait, ms; or options. Left out: for ever
   * @returns false: the time is over, and the latch still closed. Everything else is an error
   * @throws RedisUnavailableError, WrongTypeError, InvalidArgumentError
   */
  async await(request: number | WaitOptions = {}): Promise<boolean> {
    const options = typeof request === 'number' ? { waitMs: request } : request
    checkOptions('options', options, WAIT_OPTIONS)
    const limits = waitLimits(options, this.session.contexts)
    const { waiter, waitReporter, clock } = this.session
    const waiting: ReportedWait = { lockName: this.name, startedAt: clock.now() }
    const wait: WaitRequest<true> = {
      queue: localName('latch', this.key),
      topic: this.channel,
      shared: true,
      attempt: () => this.look(),
      onParked: (ticket) => waitReporter.parked(waiting, ticket),
    }
    try {
      const outcome = await waiter.enter(limitWait(wait, limits)).outcome
      if (outcome.kind === 'unavailable') {
        const waitedMs = clock.now() - waiting.startedAt
        const { plight } = this.session.runner
        throw unansweredWait(plight, { lockName: this.name, waitedMs }, outcome.error)
      }
      return outcome.kind === 'done'
    } finally {
      waitReporter.ended(waiting)
    }
  }

  /** Removes the latch: our waiters pass, those of Redisson go on waiting. @returns false: there was none */
  async delete(): Promise<boolean> {
    return this.commands.attempt(
      this.subject,
      (stamp) => deleteLatch(this.session.runner, this.announced(stamp)),
      (stamp) => this.cancel(stamp),
    )
  }

  /** All who wait in this client try together: they share one question. */
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

  /** What has been counted stays. */
  private cancel(stamp: OperationStamp): Promise<number> {
    return cancel(this.session.runner, { ...this.announced(stamp), unit: 0 })
  }

  private announced(stamp: OperationStamp): AnnouncedCommand {
    const { name: lockName, key, channel } = this
    return { lockName, key, stamp, channel }
  }
}
