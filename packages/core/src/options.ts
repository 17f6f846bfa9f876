import { hostname } from 'node:os'
import {
  checkDuration,
  checkFunction,
  checkInteger,
  checkLease,
  checkMethods,
  checkOneOf,
  checkOptions,
} from './arguments/validate.js'
import { InvalidArgumentError } from './errors.js'
import { wellFormed } from './keys.js'
import type { KnownKeys } from './arguments/unknown-key.js'
import type { ReplicaAcks } from './redis/acknowledged-transport.js'
import { MOST_ITEMS, USUAL_ITEMS } from './redis/batch.js'
import { systemRandom, type Clock } from './runtime/time.js'

/** What to do about Redisson-style calls outside any context, where nothing can tell two callers apart. */
export type BareCallsPolicy = 'warn' | 'allow' | 'throw'

/** How many replicas have to have a lease, and for how long they are waited for, ms. */
export interface ReplicaOptions {
  acks: number
  timeoutMs?: number | undefined
}

export type ShardedPubSub = 'auto' | 'on' | 'off'

/** Whether clients of other makes use the same locks. */
export type Interop = 'redisson' | 'none'

/** All durations in milliseconds. */
export interface LockClientOptions {
  /** Who this is, in the lock's hash and in error messages. Default: `<hostname>-<pid>`. No `:`, `{` or `}`. */
  clientName?: string | undefined
  /** Lease of a lock taken without one, renewed every third of it. Default 30,000. Longer: fewer renewals, but a crashed holder keeps others out longer. Under 100: a process warning. */
  lockWatchdogTimeout?: number | undefined
  /** Locks renewed by one script. Default 25. Larger: fewer scripts, longer stalls of Redis. */
  watchdogBatchSize?: number | undefined
  /**
   * Acquires, releases and heartbeats of one turn of the event loop that travel as one script. Default 32, at most 64.
   * Larger: fewer commands, longer stalls of Redis; 1: each is a command of its own, several in one write.
   */
  commandBatchSize?: number | undefined
  /** How long a Java client lets a waiter of a fair lock stay in line, as Redisson's option of that name. Default 300,000. */
  fairLockWaitTimeout?: number | undefined
  /** How often the first waiter of a lock asks again without having been woken. Default 1,000. Shorter: faster recovery of a lost message. */
  resyncInterval?: number | undefined
  /** After it the outcome of a command is unknown and the client finds out or compensates. Default 3,000; never longer than `unavailableTimeoutMs`. */
  commandTimeout?: number | undefined
  /** How long a call without a limit of its own goes on while Redis is unreachable. Default 10,000. */
  unavailableTimeoutMs?: number | undefined
  /**
   * How long `withLock`, and whatever else gives back when its work is done, waits for the answer to the release. Default
   * 1,000. After it the result is returned, and the release goes on in the background. Longer: in an outage the lock is
   * known to be free when the call returns, or `release-failed` has told.
   */
  releaseWaitMs?: number | undefined
  /** Ends the renewal of a hold this old, so that a stuck holder loses its lock. Default: off. */
  maxHoldMs?: number | undefined
  /** Default 'warn'. */
  bareCalls?: BareCallsPolicy | undefined
  /** How long a call waits before the event `waiting` tells of it. Default 0: at once. Longer: only waits that matter. */
  waitingThreshold?: number | undefined
  /**
   * Notes beside each lock since when this client has it, for those who are refused; a function tells the trace that
   * the hold is part of (a W3C `traceparent`, or undefined), and runs when a call begins. Default false. On: each
   * acquire and release costs Redis a few commands more, in the same script.
   */
  describeHolds?: boolean | (() => string | undefined) | undefined
  /**
   * Whether a plain lock goes from a caller of this client to the next one that waits in it without asking Redis: at
   * most 100 times, and for at most 5 ms, before others have their chance. A fair lock goes along its line: to those of
   * this client that stand directly behind each other (with `pushedGrants`). Default true. Never with `replicas`.
   */
  localPassing?: boolean | undefined
  /**
   * Whether a waiter of this client for a fair or a plain lock is given the lock by the release before it, and has it
   * when the message arrives; else it is woken, and takes it by a command of its own. Default true. Never with
   * `replicas`.
   */
  pushedGrants?: boolean | undefined
  /**
   * Who else uses these locks. 'none': Holdfast clients alone, all of them with this option. Then the release of a plain
   * lock announces nothing while nobody stands in line for it: one command of Redis less. A waiter that is not in line (of
   * a client without this option, of a fenced lock of the same name) hears of it after `resyncInterval`. Needs
   * `pushedGrants`, and no `replicas`. Default 'redisson': every release is announced, or given to a waiter.
   */
  interop?: Interop | undefined
  /**
   * Whether a re-entry into a renewed and trusted hold, and giving back a level that is not the last, is done here at once;
   * the count in Redis follows at the end of the tick. Default false: each has Redis's answer. Plain, fenced and spin
   * locks. Never with `replicas`.
   */
  localReentry?: boolean | undefined
  /**
   * A lease counts, and a hold is trusted, when `acks` replicas have it (WAIT), which they are given `timeoutMs` for, default
   * 1,000. Default: off, the primary's answer is enough. More: fewer locks are lost by a fail-over, and none when all
   * replicas have it; while replicas are away or late, nobody gets a lock.
   */
  replicas?: ReplicaOptions | undefined
  /**
   * On a Redis Cluster, whether messages of locks are sharded (SPUBLISH): every client of a lock has to do the same, Java
   * ones included. Default 'auto', Redisson's own way: where the servers can (Redis 7). Elsewhere it means nothing.
   */
  shardedPubSub?: ShardedPubSub | undefined
  /** For tests: where time and chance come from. Default: the system's. */
  clock?: Clock | undefined
  random?: (() => number) | undefined
}

const CLIENT_OPTIONS: KnownKeys<LockClientOptions> = {
  clientName: true,
  lockWatchdogTimeout: true,
  watchdogBatchSize: true,
  commandBatchSize: true,
  fairLockWaitTimeout: true,
  resyncInterval: true,
  commandTimeout: true,
  unavailableTimeoutMs: true,
  releaseWaitMs: true,
  maxHoldMs: true,
  bareCalls: true,
  waitingThreshold: true,
  describeHolds: true,
  localPassing: true,
  pushedGrants: true,
  interop: true,
  localReentry: true,
  replicas: true,
  shardedPubSub: true,
  clock: true,
  random: true,
}
const REPLICA_OPTIONS: KnownKeys<ReplicaOptions> = { acks: true, timeoutMs: true }

export interface ResolvedOptions {
  readonly clientName: string
  readonly lockWatchdogTimeout: number
  readonly watchdogBatchSize: number
  readonly commandBatchSize: number
  readonly fairLockWaitTimeout: number
  readonly resyncInterval: number
  readonly commandTimeout: number
  readonly unavailableTimeoutMs: number
  readonly releaseWaitMs: number
  readonly maxHoldMs: number | undefined
  readonly bareCalls: BareCallsPolicy
  readonly waitingThreshold: number
  /** undefined: off. */
  readonly describeHolds: true | (() => string | undefined) | undefined
  readonly localPassing: boolean
  readonly pushedGrants: boolean
  readonly interop: Interop
  readonly localReentry: boolean
  readonly replicas: ReplicaAcks | undefined
  readonly shardedPubSub: ShardedPubSub
  readonly clock: Clock | undefined
  readonly random: () => number
}

/** @throws InvalidArgumentError naming the option and what was given */
export function resolveOptions(options: LockClientOptions = {}): ResolvedOptions {
  checkOptions('options', options, CLIENT_OPTIONS)
  const resolved: ResolvedOptions = {
    clientName: givenOr(options.clientName, `${hostname()}-${process.pid}`.replaceAll(/[:{}]/g, '-')),
    lockWatchdogTimeout: givenOr(options.lockWatchdogTimeout, 30_000),
    watchdogBatchSize: givenOr(options.watchdogBatchSize, 25),
    commandBatchSize: givenOr(options.commandBatchSize, USUAL_ITEMS),
    fairLockWaitTimeout: givenOr(options.fairLockWaitTimeout, 300_000),
    resyncInterval: givenOr(options.resyncInterval, 1_000),
    commandTimeout: givenOr(options.commandTimeout, 3_000),
    unavailableTimeoutMs: givenOr(options.unavailableTimeoutMs, 10_000),
    releaseWaitMs: givenOr(options.releaseWaitMs, 1_000),
    maxHoldMs: options.maxHoldMs,
    bareCalls: givenOr(options.bareCalls, 'warn'),
    waitingThreshold: givenOr(options.waitingThreshold, 0),
    describeHolds: describing(options.describeHolds),
    localPassing: givenOr(options.localPassing, true),
    pushedGrants: givenOr(options.pushedGrants, true),
    interop: givenOr(options.interop, 'redisson'),
    localReentry: givenOr(options.localReentry, false),
    replicas: replicaAcks(options.replicas),
    shardedPubSub: givenOr(options.shardedPubSub, 'auto'),
    clock: options.clock,
    random: givenOr(options.random, systemRandom),
  }
  check(resolved)
  return {
    ...resolved,
    clientName: wellFormed(resolved.clientName),
    commandTimeout: Math.min(resolved.commandTimeout, resolved.unavailableTimeoutMs),
  }
}

/** null is no way to say nothing: it is refused as any other value. */
function givenOr<T>(given: T | undefined, usual: T): T {
  return given === undefined ? usual : given
}

function check(options: ResolvedOptions): void {
  const { clientName } = options
  if (typeof (clientName as unknown) !== 'string' || !/^[^:{}]{1,200}$/.test(clientName)) {
    throw new InvalidArgumentError(
      'clientName',
      clientName,
      'a string of 1 to 200 characters without ":", "{" and "}"',
    )
  }
  checkLease('lockWatchdogTimeout', options.lockWatchdogTimeout)
  checkInteger('watchdogBatchSize', options.watchdogBatchSize, 1)
  checkInteger('commandBatchSize', options.commandBatchSize, 1, MOST_ITEMS)
  checkDuration('fairLockWaitTimeout', options.fairLockWaitTimeout, 'positive')
  checkDuration('resyncInterval', options.resyncInterval, 'positive')
  checkDuration('commandTimeout', options.commandTimeout, 'positive')
  checkDuration('unavailableTimeoutMs', options.unavailableTimeoutMs, 'positive')
  checkDuration('releaseWaitMs', options.releaseWaitMs, 'zero')
  checkDuration('maxHoldMs', options.maxHoldMs, 'positive')
  checkClock(options.clock)
  checkFunction('random', options.random)
  checkOneOf('bareCalls', options.bareCalls, ['warn', 'allow', 'throw'])
  checkDuration('waitingThreshold', options.waitingThreshold, 'zero')
  checkOneOf('localPassing', options.localPassing, [true, false])
  checkOneOf('pushedGrants', options.pushedGrants, [true, false])
  checkInterop(options)
  checkOneOf('localReentry', options.localReentry, [true, false])
  checkOneOf('shardedPubSub', options.shardedPubSub, ['auto', 'on', 'off'])
}

/** Who is not given a lock hears of it by what is announced. */
function checkInterop({ interop, pushedGrants, replicas }: ResolvedOptions): void {
  checkOneOf('interop', interop, ['redisson', 'none'])
  if (interop === 'none' && !pushedGrants) {
    throw new InvalidArgumentError('pushedGrants', pushedGrants, "true, with interop: 'none'")
  }
  if (interop === 'none' && replicas) {
    throw new InvalidArgumentError('replicas', replicas, "undefined, with interop: 'none'")
  }
}

function describing(given: LockClientOptions['describeHolds'] = false): ResolvedOptions['describeHolds'] {
  if (typeof given !== 'boolean' && typeof given !== 'function') {
    throw new InvalidArgumentError('describeHolds', given, 'true, false or a function')
  }
  return given === false ? undefined : given
}

function replicaAcks(given: ReplicaOptions | undefined): ReplicaAcks | undefined {
  if (given === undefined) {
    return undefined
  }
  checkOptions('replicas', given, REPLICA_OPTIONS)
  const { acks, timeoutMs = 1_000 } = given
  checkInteger('replicas.acks', acks, 1)
  // Redis takes 0 for without end.
  checkInteger('replicas.timeoutMs', timeoutMs, 1)
  return { acks, timeoutMs }
}

function checkClock(clock: Clock | undefined): void {
  if (clock !== undefined) {
    const methods = ['now', 'wallNow', 'setTimer']
    checkMethods('clock', clock, methods, 'a clock with now(), wallNow() and setTimer()')
  }
}
