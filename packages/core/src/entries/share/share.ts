import { InvalidArgumentError, type LockClient } from '../../index.js'
import {
  isInOneSlot,
  shareLock,
  shareLockInOneSlot,
  wellFormed,
  checkWork,
  checkClient,
  checkDuration,
  checkFunction,
  checkInteger,
  checkLease,
  checkMethods,
  checkName,
  checkOneOf,
  checkWait,
  untilKnown,
  showsOnly,
  nativeSignal,
  type KnownKeys,
  checkOptions,
} from '../door.js'
import { Caller, type SharedResult, type Task } from './caller.js'
import { JSON_CODEC, type ShareCodec } from './codec.js'
import { Flight, type ShareRules } from './flight.js'
import type { RunPlace } from './run-under.js'
import { refuseCycle } from './run-waits.js'
import { sendInvalidate } from './scripts.js'

/** All durations in milliseconds. */
export interface ShareOptions<T> {
  /**
   * How long a result counts for later callers, from the end of its run, by the clock of Redis; a function is given the
   * result. Default 0: a result is for the callers that waited for it.
   */
  readonly keepMs?: number | ((value: T) => number) | undefined
  /** How much longer than `keepMs` a result is served at once, while one caller's function makes a newer one. Default 0. */
  readonly staleMs?: number | undefined
  /** How long a call waits for another caller's run. Default: the client's `waitMs`, else without a limit. */
  readonly waitMs?: number | undefined
  /**
   * The lease of a run, renewed while it runs: how long others wait after its process died. Default: the client's
   * `lockWatchdogTimeout`.
   */
  readonly leaseMs?: number | undefined
  /**
   * When a run ended without a result, because its process died, lost the lock or was closed. `rerun` (default): one of
   * those who wait runs. `fail`: all of them get a ShareOutcomeUnknownError.
   */
  readonly onCrash?: 'rerun' | 'fail' | undefined
  /**
   * When Redis does not answer. `throw` (default): calls get a RedisUnavailableError, after `waitMs`, or
   * `unavailableTimeoutMs` without one. `run`: then one function runs in each process that is asked, uncoordinated.
   */
  readonly onRedisError?: 'throw' | 'run' | undefined
  /** How results become text. Default: JSON. */
  readonly codec?: ShareCodec<T> | undefined
  /** The longest encoded result, bytes. Default 1 MiB. */
  readonly maxBytes?: number | undefined
  /** Is told when a run fails that was to replace a result that is still served. Default: nobody is. */
  readonly onRefreshError?: ((error: unknown, key: string) => void) | undefined
}

/** The limits of one call. */
export interface ShareCallOptions {
  /** Overrides the option of the share. Infinity: without a limit. */
  readonly waitMs?: number | undefined
  /** Ends this call's wait, with its reason. A run goes on: others may wait for it. */
  readonly signal?: AbortSignal | undefined
}

const SHARE_OPTIONS: KnownKeys<ShareOptions<unknown>> = {
  keepMs: true,
  staleMs: true,
  waitMs: true,
  leaseMs: true,
  onCrash: true,
  onRedisError: true,
  codec: true,
  maxBytes: true,
  onRefreshError: true,
}
const CALL_OPTIONS: KnownKeys<ShareCallOptions> = { waitMs: true, signal: true }
const MOST_BYTES = 1_048_576

/**
 * Makes a share: work that one caller of a whole fleet does at a time for each key, and whose result all get. Keep the
 * object: its callers in one process send the commands of one.
 * @param locks its lock `share:<name>:<key>` is held while a function runs
 * @param name together with a key at most 1,000 bytes
 * @throws InvalidArgumentError
 */
export function getShare<T = unknown>(
  locks: LockClient,
  name: string,
  options: ShareOptions<T> = {},
): Share<T> {
  checkClient('locks', locks, ['getLock', 'fork'], 'a LockClient and come first, as in getShare(locks, name)')
  checkName(name)
  return new Share(locks, name, options)
}

/** See `getShare`. */
export class Share<T = unknown> {
  private readonly flights = new Map<string, Flight<T>>()
  private readonly rules: ShareRules<T>
  private readonly waitMs: number | undefined

  /** @internal Made by `getShare`. */
  constructor(
    private readonly locks: LockClient,
    readonly name: string,
    options: ShareOptions<T>,
  ) {
    this.rules = rulesOf(options)
    this.waitMs = options.waitMs
  }

  /**
   * Gives the result for this key: a kept one, that of a run under way, or that of `task`, which runs if nobody's does.
   * Waits for another caller's run at most `waitMs`, by default the share's. All callers of a process get one object:
   * treat it as read-only.
   *
   * At most one run in the fleet is trusted: its signal aborts before another can begin. It runs outside the contexts of its
   * caller, and goes on when that caller leaves.
   * @throws what `task` throws: to its caller; SharedError: to the others that waited for it
   * @throws ShareBusyError another's run took longer than `waitMs`; the reason of `signal`
   * @throws ShareOutcomeUnknownError see `onCrash`; RedisUnavailableError see `onRedisError`
   * @throws InvalidArgumentError also where a result cannot be encoded or is too long; SelfDeadlockError the run of this
   *   key makes the call, or waits in this process for the run that does; ClientClosedError
   */
  async run<R extends T>(key: string, task: Task<R>, options: ShareCallOptions = {}): Promise<R> {
    return (await this.runForResult(key, task, options)).value
  }

  /**
   * Gives the result for this key as `run` does, and says how old it is, and where it comes from. Waits as long: at
   * most `waitMs`, by default the share's.
   * @throws as `run`
   */
  async runForResult<R extends T>(
    key: string,
    task: Task<R>,
    options: ShareCallOptions = {},
  ): Promise<SharedResult<R>> {
    const place = this.placeOf(key)
    checkWork('task', task)
    checkOptions('options', options, CALL_OPTIONS)
    const { session } = place
    const { waitMs = this.waitMs ?? session.options.waitMs } = options
    checkWait('waitMs', waitMs)
    const signal = session.contexts.signalBeside(nativeSignal(options.signal))
    signal?.throwIfAborted()
    const inside = refuseCycle(place)
    const limitMs = waitMs === Infinity ? undefined : waitMs
    const caller = new Caller<T>(task, session.runtime, limitMs, signal)
    if (waitMs === undefined) {
      caller.endless = inside?.endless()
    }
    const flight = this.flights.get(key)
    if (flight) {
      flight.join(caller)
    } else {
      this.begin(place, caller)
    }
    inside?.waits(caller.outcome)
    return caller.outcome as Promise<SharedResult<R>>
  }

  /**
   * Forgets the kept result of a key, and waits for Redis's reply, trying for at most `unavailableTimeoutMs`. A run under way still
   * reaches those who wait for it, and is not kept; later callers of this process do not join it.
   * @throws RedisUnavailableError, InvalidArgumentError, ClientClosedError
   */
  async invalidate(key: string): Promise<void> {
    const { session, lockName, lockKey } = this.placeOf(key)
    const giveUpAt = session.runtime.now() + session.options.unavailableTimeoutMs
    const given = { lockName, key: lockKey }
    const flight = this.flights.get(key)
    const asOf = flight?.validity.next() ?? 0
    const owner = await untilKnown(() => sendInvalidate(session.runner, given), session, giveUpAt)
    flight?.validity.wasValid(owner, asOf)
    this.flights.delete(key)
  }

  private begin(place: RunPlace, caller: Caller<T>): void {
    const { key } = place
    const flight = new Flight(place, this.rules, (over) => {
      if (this.flights.get(key) === over) {
        this.flights.delete(key)
      }
    })
    this.flights.set(key, flight)
    flight.join(caller)
    flight.start()
  }

  private placeOf(key: unknown): RunPlace {
    // Redis would store the same text for several that are not well-formed.
    if (typeof key !== 'string' || key.length === 0 || wellFormed(key) !== key) {
      throw new InvalidArgumentError('key', key, 'a non-empty string of well-formed text')
    }
    const { locks } = this
    const lockName = this.lockNameOf(key)
    const { session, protocol } = locks.getLock(lockName)
    return { locks, session, lockName, lockKey: protocol.key, key }
  }

  private lockNameOf(key: string): string {
    const { locks, name } = this
    const usual = shareLock(name, key)
    if (isInOneSlot(usual)) {
      return usual
    }
    // Keys may come from users: none may fail on a cluster because of its braces.
    const { port, keyPrefix } = locks.getLock('share').session
    return port.slotOf && !isInOneSlot(keyPrefix + usual) ? shareLockInOneSlot(name, key) : usual
  }
}

showsOnly(Share, ['name'])

/** @throws InvalidArgumentError */
function rulesOf<T>(options: ShareOptions<T>): ShareRules<T> {
  checkOptions('options', options, SHARE_OPTIONS)
  const { keepMs = 0, staleMs = 0, onCrash = 'rerun', onRedisError = 'throw' } = options
  const { codec = JSON_CODEC as ShareCodec<T>, maxBytes = MOST_BYTES, leaseMs, onRefreshError } = options
  if (typeof keepMs !== 'function') {
    checkDuration('keepMs', keepMs, 'zero')
  }
  checkDuration('staleMs', staleMs, 'zero')
  checkWait('waitMs', options.waitMs)
  checkLease('leaseMs', leaseMs)
  checkOneOf('onCrash', onCrash, ['rerun', 'fail'])
  checkOneOf('onRedisError', onRedisError, ['throw', 'run'])
  checkMethods('codec', codec, ['encode', 'decode'], 'an object with encode and decode')
  checkInteger('maxBytes', maxBytes, 1)
  if (onRefreshError !== undefined) {
    checkFunction('onRefreshError', onRefreshError)
  }
  const longestMs = typeof keepMs === 'number' ? keepMs : Number.MAX_SAFE_INTEGER - staleMs
  return {
    wanted: {
      freshMs: longestMs,
      usableMs: longestMs + staleMs,
      failsOnCrash: onCrash === 'fail',
    },
    keepTimes(value) {
      const given = typeof keepMs === 'function' ? keepMs(value) : keepMs
      checkDuration('keepMs', given, 'zero')
      const freshMs = Math.ceil(given)
      return { freshMs, usableMs: Math.ceil(freshMs + staleMs) }
    },
    codec,
    maxBytes,
    leaseMs,
    runsWithoutRedis: onRedisError === 'run',
    refreshFailed: (error, key) => onRefreshError?.(error, key),
  }
}
