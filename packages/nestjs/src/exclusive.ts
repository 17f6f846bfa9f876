import { Inject } from '@nestjs/common'
import { InvalidArgumentError, type LockClient } from '@holdfast/core'
import { checkOptions, type KnownKeys } from '@holdfast/core/siblings'
import { exclusive, type ExclusiveRun, type Scheduled } from '@holdfast/core/schedule'
import { copyMetadata } from './metadata.js'
import { getLocksToken } from './tokens.js'

/** The options of `@Exclusive`. All durations are milliseconds. */
export interface ExclusiveTaskOptions {
  /** The name of the schedule and of its lock. Default: class and method, `Reports.nightly`. */
  readonly name?: string | undefined
  /** The name of the module's client, if there are several. Default: the client injected as `LockClient`. */
  readonly client?: string | undefined
  /**
   * The minimum time between two ticks; default 60,000. The tick of a call is its time, rounded down to a multiple of
   * this: all processes agree on it unless one is late by more than nine tenths of it.
   */
  readonly everyMs?: number | undefined
  /** Derives the tick from the call's arguments: ms since 1970, or a Date. Replaces `everyMs`. */
  readonly tick?: ((...args: never[]) => Date | number) | undefined
  /** Maximum duration of a run: then its signal aborts, and another run may begin. Default: no limit. */
  readonly atMostForMs?: number | undefined
  /** Minimum time from the start of a run to the start of the next, by the clock of Redis. Default 0. */
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

/**
 * A method that can be a task: it receives the run, and its result is discarded, because another process may run it.
 */
export type ExclusiveMethod = (run: ExclusiveRun) => Promise<void> | void

/** A decorator for TypeScript's `experimentalDecorators`, which Nest requires. */
export type ExclusiveDecorator = <M extends ExclusiveMethod>(
  prototype: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => TypedPropertyDescriptor<M>

/**
 * Runs a method once per tick across the fleet, although a scheduler calls it in every process: combine it with
 * `@Cron`, in any order. A call that is not the first for its tick does nothing and does not wait. The method
 * receives the run instead of the scheduler's arguments, and executes in the run's context. The call rejects with the
 * method's error; with LockLostError; and, without starting the method, with RedisUnavailableError if Redis does not
 * answer.
 * @throws InvalidArgumentError at once for invalid options; from the call when one process calls twice for the same
 *   tick, because `everyMs` is longer than the time between two calls
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
      throw new InvalidArgumentError('@Exclusive', work, 'on an instance method of a class')
    }
    const property = injectClient(prototype, options.client)
    const name = options.name ?? nameOf(prototype, method)
    const { tick, everyMs = tick ? undefined : DEFAULT_EVERY_MS, atMostForMs, atLeastForMs } = options
    const schedules = new WeakMap<object, Scheduled<void>>()
    const replacement = async function (this: Host, ...args: never[]): Promise<void> {
      let scheduled = schedules.get(this)
      if (!scheduled) {
        const locks = clientOf(this, property)
        scheduled = exclusive(name, { locks, everyMs, atMostForMs, atLeastForMs }, (run) =>
          work.call(this, run),
        )
        schedules.set(this, scheduled)
      }
      await scheduled(tick && { tick: tick(...args) })
    }
    Object.defineProperty(replacement, 'name', { value: work.name, configurable: true })
    copyMetadata(work, replacement)
    return { ...descriptor, value: replacement }
  }
  return decorate as unknown as ExclusiveDecorator
}

type Host = Record<symbol, LockClient | undefined>

/** @throws InvalidArgumentError */
function check(options: ExclusiveTaskOptions): void {
  checkOptions('options', options, EXCLUSIVE_OPTIONS)
  const { name = 'a', client, everyMs, tick, atMostForMs, atLeastForMs } = options
  // `exclusive` validates its options before it uses the client.
  exclusive(name, { locks: NOBODY, everyMs, atMostForMs, atLeastForMs }, () => undefined)
  if (client !== undefined && typeof client !== 'string') {
    throw new InvalidArgumentError('client', client, 'the name of a client of LocksModule')
  }
  if (tick !== undefined && typeof tick !== 'function') {
    throw new InvalidArgumentError('tick', tick, 'a function of the arguments')
  }
  if (everyMs !== undefined && tick !== undefined) {
    throw new InvalidArgumentError('everyMs', everyMs, 'omitted with tick, which determines the tick')
  }
}

const nobody = (): never => {
  throw new Error('This client stands in for one while options are checked.')
}
const NOBODY = { getLock: nobody, fork: nobody } as unknown as LockClient

/** Makes Nest inject the client into each object it creates: each application its own. */
function injectClient(prototype: object, client: string | undefined): symbol {
  const property = Symbol.for(`holdfast.nestjs.client:${client ?? ''}`)
  Inject(getLocksToken(client))(prototype, property)
  return property
}

/** @throws InvalidArgumentError */
function clientOf(host: Host, property: symbol): LockClient {
  const locks = host[property]
  if (!locks) {
    throw new InvalidArgumentError(
      '@Exclusive',
      undefined,
      'in an object created by Nest, with LocksModule imported',
    )
  }
  return locks
}

function nameOf(prototype: object, method: string | symbol): string {
  const methodName = typeof method === 'symbol' ? (method.description ?? '') : method
  return `${prototype.constructor.name}.${methodName}`
}
