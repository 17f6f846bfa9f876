import { Inject } from '@nestjs/common'
import { checkOptions, InvalidArgumentError, type KnownKeys, type LockClient } from '@holdfast/core'
import { exclusive, type ExclusiveRun, type Scheduled } from '@holdfast/core/schedule'
import { copyMetadata } from './metadata.js'
import { getLocksToken } from './tokens.js'

/** What `@Exclusive` is told. All durations are milliseconds. */
export interface ExclusiveTaskOptions {
  /** Of the schedule, and of its lock. Left out: class and method, `Reports.nightly`. */
  readonly name?: string | undefined
  /** The name of the module's client, for one among several. Left out: the one that is injected as `LockClient`. */
  readonly client?: string | undefined
  /**
   * The time from one tick to the next, at least; default 60 000. Which tick a call is, is the time at which it comes,
   * rounded down to a multiple of this: processes agree on it, unless one of them is later than nine tenths of it.
   */
  readonly everyMs?: number | undefined
  /** Which tick a call is, where its arguments tell: ms since 1970, or a Date. Instead of `everyMs`. */
  readonly tick?: ((...args: never[]) => Date | number) | undefined
  /** The longest that a run may have the lock: then its signal aborts, and another may begin. Left out: no limit. */
  readonly atMostForMs?: number | undefined
  /** For so long after a run has begun no other begins, by the clock of Redis. Default 0. */
  readonly atLeastForMs?: number | undefined
}

const EXCLUSIVE_OPTIONS: KnownKeys<ExclusiveTaskOptions> = {
  name: true,
  client: true,
  everyMs: true,
  tick: true,
  atMostForMs: true,
  atLeastForMs: true,
}
const DEFAULT_EVERY_MS = 60_000
/** A timer may come early by a clock that is being set: by so much of `everyMs` it is that of the tick to come. */
const EARLY_PART = 0.1
const MOST_EARLY_MS = 60_000
/** Calls of one process that are nearer to each other than this part of `everyMs` are two ticks. */
const LEAST_APART = 0.9

/** A method that can be a task: it is given its run, and nobody gets what it returns, because another process may. */
export type ExclusiveMethod = (run: ExclusiveRun) => Promise<void> | void

/** A decorator of TypeScript's `experimentalDecorators`, which Nest needs. */
export type ExclusiveDecorator = <M extends ExclusiveMethod>(
  prototype: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => TypedPropertyDescriptor<M>

/**
 * One run per tick over the fleet, for a method that a scheduler calls in every process: `@Cron` above it, in any order.
 * It skips and never waits: who comes second does nothing. What the scheduler passes is replaced by the run, in whose
 * context the method is. The call rejects with what the method throws; with LockLostError; and with
 * RedisUnavailableError where Redis does not answer, then the method was not begun.
 * @throws InvalidArgumentError at once for options that cannot be meant; from the call for a process that comes for the
 * same tick twice, because `everyMs` is longer than the time between two
 */
export function Exclusive(options: ExclusiveTaskOptions = {}): ExclusiveDecorator {
  check(options)
  const decorate = (
    prototype: object,
    method: string | symbol,
    descriptor: TypedPropertyDescriptor<ExclusiveMethod> | undefined,
  ): PropertyDescriptor => {
    const work = descriptor?.value
    if (typeof work !== 'function' || typeof prototype === 'function') {
      throw new InvalidArgumentError('@Exclusive', work, 'on a method of the objects of a class')
    }
    const property = injectClient(prototype, options.client)
    const name = options.name ?? nameOf(prototype, method)
    const schedules = new WeakMap<object, Schedule>()
    const replacement = async function (this: Host, ...args: never[]): Promise<void> {
      const schedule =
        schedules.get(this) ??
        new Schedule(name, clientOf(this, property), options, (run) => work.call(this, run))
      schedules.set(this, schedule)
      await schedule.call(args)
    }
    Object.defineProperty(replacement, 'name', { value: work.name, configurable: true })
    copyMetadata(work, replacement)
    return { ...descriptor, value: replacement }
  }
  return decorate as unknown as ExclusiveDecorator
}

type Host = Record<symbol, LockClient | undefined>

/** A method of one object. */
class Schedule {
  private readonly scheduled: Scheduled<void>
  private latest = { tick: -1, at: 0 }

  constructor(
    name: string,
    locks: LockClient,
    private readonly options: ExclusiveTaskOptions,
    work: ExclusiveMethod,
  ) {
    const { atMostForMs, atLeastForMs } = options
    this.scheduled = exclusive(name, { locks, atMostForMs, atLeastForMs }, work)
  }

  async call(args: never[]): Promise<void> {
    const { tick } = this.options
    await this.scheduled({ tick: tick ? tick(...args) : this.tickOfNow() })
  }

  /** @throws InvalidArgumentError */
  private tickOfNow(): number {
    const { everyMs = DEFAULT_EVERY_MS } = this.options
    // The scheduler goes by the time of day, and this is to be the tick that it means.
    // eslint-disable-next-line no-restricted-properties
    const at = Date.now()
    const early = Math.min(everyMs * EARLY_PART, MOST_EARLY_MS)
    const tick = Math.floor((at + early) / everyMs) * everyMs
    const before = this.latest
    this.latest = { tick, at }
    if (tick === before.tick && at - before.at < everyMs * LEAST_APART) {
      // It would be skipped as done, in silence, by every process: a tick that nobody runs.
      const rule = `at most the time between two ticks, and this process came again after ${at - before.at} ms`
      throw new InvalidArgumentError('everyMs', everyMs, rule)
    }
    return tick
  }
}

/** @throws InvalidArgumentError */
function check(options: ExclusiveTaskOptions): void {
  checkOptions('options', options, EXCLUSIVE_OPTIONS)
  const { name = 'a', client, everyMs, tick, atMostForMs, atLeastForMs } = options
  // It checks its options before it has a client to use.
  exclusive(name, { locks: NOBODY, atMostForMs, atLeastForMs }, () => undefined)
  if (client !== undefined && typeof client !== 'string') {
    throw new InvalidArgumentError('client', client, 'the name of a client of LocksModule')
  }
  if (tick !== undefined && typeof tick !== 'function') {
    throw new InvalidArgumentError('tick', tick, 'a function of the arguments')
  }
  if (everyMs !== undefined && !(Number.isSafeInteger(everyMs) && everyMs > 0)) {
    throw new InvalidArgumentError('everyMs', everyMs, 'a whole number of milliseconds, greater than 0')
  }
  if (everyMs !== undefined && tick !== undefined) {
    throw new InvalidArgumentError('everyMs', everyMs, 'left out beside tick, which tells the tick by itself')
  }
}

const nobody = (): never => {
  throw new Error('This client stands in for one while options are checked.')
}
const NOBODY = { getLock: nobody, fork: nobody } as unknown as LockClient

/** Has Nest set the client on each object that it makes: each application its own. */
function injectClient(prototype: object, client: string | undefined): symbol {
  const property = Symbol.for(`holdfast.nestjs.client:${client ?? ''}`)
  Inject(getLocksToken(client))(prototype, property)
  return property
}

/** @throws InvalidArgumentError */
function clientOf(host: Host, property: symbol): LockClient {
  const locks = host[property]
  if (!locks) {
    throw new InvalidArgumentError('@Exclusive', undefined, 'in an object that Nest made, beside LocksModule')
  }
  return locks
}

function nameOf(prototype: object, method: string | symbol): string {
  const methodName = typeof method === 'symbol' ? (method.description ?? '') : method
  return `${prototype.constructor.name}.${methodName}`
}
