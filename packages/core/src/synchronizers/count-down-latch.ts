import type { Attempt, WaitRequest } from '@holdfast/waiter'
import { unavailableOrThrow } from '../acquire/failed-try.js'
import { latchChannel, localName } from '../keys.js'
import { unansweredWait } from '../redis/failures.js'
import { countDown, deleteLatch } from '../scripts/latch.js'
import type { SynchronizerServices } from './services.js'
import { checkOptions } from '../arguments/validate.js'
import type { ReportedWait } from '../diagnostics/wait-reporter.js'
import type { CountedCommands } from './counted-commands.js'
import { Counter } from './counter.js'
import type { OncePerTurn } from './once-per-turn.js'
import { checkCount } from './permit-arguments.js'
import { limitWait, WAIT_OPTIONS, waitLimits, type WaitOptions } from './wait-limits.js'
import { showsOnly } from '../runtime/shows-only.js'

const WHAT = 'a count-down latch'

/**
 * Releases all waiters once it has been counted down to zero: Redisson's RCountDownLatch. A latch that does not exist
 * is open.
 */
export class CountDownLatch {
  private readonly counter: Counter

  /** @internal Created by a client. */
  constructor(
    private readonly session: SynchronizerServices,
    commands: CountedCommands,
    private readonly counts: OncePerTurn<number>,
    readonly name: string,
  ) {
    const key = session.keyPrefix + name
    this.counter = new Counter(session, commands, {
      lockName: name,
      key,
      channel: latchChannel(key),
      what: WHAT,
    })
  }

  /**
   * Creates the latch, unless it exists.
   * @returns false: it exists already
   * @throws InvalidArgumentError, RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  async trySetCount(count: number): Promise<boolean> {
    checkCount('count', count, 1)
    return this.counter.trySet({ value: count, ttlMs: undefined, message: '1' })
  }

  /**
   * Decrements the count. At 0 the latch is deleted and all waiters pass. No effect without a latch.
   * @throws RedisUnavailableError, WrongTypeError, ClientClosedError
   */
  async countDown(): Promise<void> {
    await this.counter.insist((given) => countDown(this.session.runner, given))
  }

  /** Reads the count; 0 without a latch. @throws RedisUnavailableError, WrongTypeError, ClientClosedError */
  getCount(): Promise<number> {
    return this.counter.read()
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
    const { key, channel } = this.counter.subject
    const waiting: ReportedWait = { lockName: this.name, startedAt: runtime.now(), isUnlimited, what: WHAT }
    const wait: WaitRequest<true> = {
      queue: localName('latch', key),
      topic: channel,
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
    return this.counter.attempt((given) => deleteLatch(this.session.runner, given))
  }

  /** All waiters of this client try together and share one query. */
  private async look(): Promise<Attempt<true>> {
    try {
      const count = await this.counts.ask(this.counter.subject.key, () => this.getCount())
      return count <= 0 ? { kind: 'done', value: true } : { kind: 'refused' }
    } catch (error) {
      return unavailableOrThrow(error)
    }
  }
}

showsOnly(CountDownLatch, ['name'])
