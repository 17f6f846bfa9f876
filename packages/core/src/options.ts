import { hostname } from 'node:os'
import {
  checkDuration,
  checkInteger,
  checkLease,
  checkMaxWaiting,
  checkOneOf,
  checkOptions,
} from './arguments/validate.js'
import { InvalidArgumentError } from './errors.js'
import { wellFormed } from './keys.js'
import { checkLinger } from './arguments/linger.js'
import { foreignRuleOf, type ForeignLocks, type ForeignRule } from './arguments/foreign-locks.js'
import type { KnownKeys } from './arguments/unknown-key.js'
import type { ReplicaAcks } from './redis/acknowledged-transport.js'
import { MOST_ITEMS, USUAL_ITEMS } from './redis/batch.js'
import {
  backgroundRuntime,
  runtimeWith,
  systemRuntime,
  unusableRuntime,
  type Runtime,
} from './runtime/runtime.js'

/** All durations in milliseconds. */
export interface LockClientOptions {
  /**
   * Name of this client, in the lock's hash and in error messages. Default: `<hostname>-<pid>`. No `:`, `{` or `}`.
   */
  clientName?: string | undefined
  /**
   * How long calls wait that have no `waitMs` and would wait without a limit: `acquire`, `lock`, `withLock`, and `acquire`
   * of semaphores. A try stays one attempt: `tryLock`, `tryAcquire`, decorated methods. `waitMs: Infinity` of a call is
   * without a limit. Default: no limit.
   */
  waitMs?: number | undefined
  /**
   * Lease of calls that have no `leaseMs`, of locks and of permits; not renewed, unless a call has `renew: true`. Default:
   * `lockWatchdogTimeout`, renewed; of permits none.
   */
  leaseMs?: number | undefined
  /**
   * Lease of a lock acquired without one, renewed every third of it. Default 30,000. Longer: fewer renewals, but a
   * crashed holder blocks the lock longer. Under 100: a process warning.
   */
  lockWatchdogTimeout?: number | undefined
  /**
   * What happens to levels that are still held when their context ends (`run`, `fork`, a request, a decorated method, a
   * `withLock`). 'warn': they stay held, and a process warning says so. 'keep': they stay held. 'release': their signal
   * aborts at once, and the lock is released when its holder releases it, after `graceMs`, or when the client closes;
   * meanwhile it is not renewed. Default 'warn'.
   */
  onContextEnd?: 'warn' | 'release' | 'keep' | undefined
  /**
   * How long holders have to finish: in `close()`, unless that says otherwise, and with `onContextEnd: 'release'`, but there
   * no longer than the lease. Default 5,000. Longer: fewer are interrupted, and others wait longer.
   */
  graceMs?: number | undefined
  /**
   * Whether to store beside each lock since when it is held, to show to clients that are refused; a function also
   * stores the trace of the hold (it returns a W3C `traceparent` or undefined, and runs when an acquire begins).
   * Default false. On: a few more Redis commands in the script of each acquire and release.
   */
  describeHolds?: boolean | (() => string | undefined) | undefined
  /** Maximum number of locks renewed by one script. Default 25. Larger: fewer scripts, longer stalls of Redis. */
  watchdogBatchSize?: number | undefined
  /**
   * Maximum number of acquires, releases and heartbeats of one event-loop turn that are sent as one script. Default
   * 32, at most 64. Larger: fewer commands, longer stalls of Redis; 1: one command each, several in one write.
   */
  commandBatchSize?: number | undefined
  /**
   * How long a Java client keeps a waiter of a fair lock in the queue; Redisson's option of the same name. Default
   * 300,000.
   */
  fairLockWaitTimeout?: number | undefined
  /**
   * How often the first waiter of a lock retries without having been woken. Default 1,000. Shorter: faster recovery
   * of a lost message.
   */
  resyncInterval?: number | undefined
  /**
   * Reply deadline of a command. After it the outcome is unknown, and the client finds out or undoes it. Default
   * 3,000; never longer than `unavailableTimeoutMs`.
   */
  commandTimeout?: number | undefined
  /**
   * How long a call without a limit of its own keeps trying while Redis is unreachable. The last try of a release, or of
   * another command that is sent until its outcome is known, may take one `commandTimeout` more. Default 10,000.
   */
  unavailableTimeoutMs?: number | undefined
  /**
   * How long `withLock`, and every other call that releases after its work, waits for the reply to the release.
   * Default 1,000. After it the call returns, and the release continues in the background. Longer: even in an outage,
   * when the call returns the lock is known to be free or `release-failed` was emitted. 0: it returns once the release has
   * been written to the connection, where that proves as much; otherwise it waits for a millisecond.
   */
  releaseWaitMs?: number | undefined
  /**
   * How many may wait for a lock, or for permits, when another call would have to wait: that one rejects with
   * LockBusyError at once, unless it has a `maxWaiting` of its own. Default: no bound.
   */
  maxWaiting?: number | undefined
  /** Maximum age of a renewed hold: after it renewal stops, so that a stuck holder loses its lock. Default: off. */
  maxHoldMs?: number | undefined
  /** How to treat Redisson-style calls outside any context. Default 'warn'. */
  bareCalls?: 'warn' | 'allow' | 'throw' | undefined
  /**
   * How long a call waits before the event `waiting` is emitted. Default 0: at once. Longer: only the waits that
   * matter.
   */
  waitingThreshold?: number | undefined
  /**
   * Whether a plain lock is passed on between callers of this client without asking Redis: at most 100 times, and
   * for at most 5 ms, before other clients get their chance. A fair lock is passed on to waiters of this client
   * directly behind each other in its queue (needs `pushedGrants`). Default true. Always off with `replicas`.
   */
  localPassing?: boolean | undefined
  /**
   * How long a plain lock that was released may stay with this client for its next caller, which then has it without a
   * round trip; counted from when it was acquired in Redis. Only a name that is taken again and again within that time, while
   * no other client waits for it. Meanwhile others are refused, and `isLocked()` is true. At most 5; 50 with
   * `interop: 'none'`. Default 0: a release frees the lock. Not with `replicas` or without `localPassing`.
   */
  lingerMs?: number | undefined
  /**
   * Whether a release grants a fair or plain lock directly to the next waiter of this client, which holds it when the
   * message arrives; otherwise the message wakes the waiter, and it acquires by a command of its own. Default true.
   * Always off with `replicas`.
   */
  pushedGrants?: boolean | undefined
  /**
   * Which clients use these locks. 'none': only Holdfast clients, all of them with this option. Then the release of a
   * plain lock publishes nothing while no waiter is queued in Redis, which saves one command. A waiter outside that
   * queue (of a client without this option, or of a fenced lock of the same name) notices the release only after
   * `resyncInterval`. Requires `pushedGrants`, and no `replicas`. Default 'redisson': every release is published, or
   * grants the lock to a waiter.
   */
  interop?: 'redisson' | 'none' | undefined
  /**
   * What to do where a string has the name of a lock: the lock of another library, such as redlock. Default 'error':
   * WRONG_TYPE. 'wait': it counts as held until it is gone; one waiter of a client and name looks again, every 5 to
   * 50 ms, because other libraries publish nothing. Which libraries that is safe beside: docs/beside-other-locks.md.
   */
  foreignLocks?: ForeignLocks | undefined
  /**
   * Whether a re-entry into a renewed and trusted hold, and the release of a level other than the last, complete
   * locally at once; the count in Redis follows at the end of the tick. Default false: each waits for Redis's reply.
   * Plain, fenced and spin locks. Always off with `replicas`.
   */
  localReentry?: boolean | undefined
  /**
   * A lease counts, and a hold is trusted, only once `acks` replicas have it (WAIT). They get `timeoutMs`, default
   * 1,000. Default: off, the primary's reply is enough. More: fail-overs lose fewer locks, and none when all replicas
   * have the lease; while replicas are unavailable or late, locks cannot be acquired.
   */
  replicas?: { acks: number; timeoutMs?: number | undefined } | undefined
  /**
   * On a Redis Cluster, whether lock messages use sharded Pub/Sub (SPUBLISH). All clients of a lock must agree, Java
   * clients included. Default 'auto', like Redisson: when the servers support it (Redis 7). Elsewhere it has no
   * effect.
   */
  shardedPubSub?: 'auto' | 'on' | 'off' | undefined
  /**
   * For tests and simulators: replaces the source of time and timers (three methods, together), of scheduling, randomness or
   * ids. Default: the system's, whose timers keep the process alive only while a caller awaits them; on a `TestRedis` its own.
   */
  runtime?: Partial<Runtime> | undefined
}

const CLIENT_OPTIONS: KnownKeys<LockClientOptions> = {
  clientName: true,
  waitMs: true,
  leaseMs: true,
  lockWatchdogTimeout: true,
  onContextEnd: true,
  graceMs: true,
  describeHolds: true,
  watchdogBatchSize: true,
  commandBatchSize: true,
  fairLockWaitTimeout: true,
  resyncInterval: true,
  commandTimeout: true,
  unavailableTimeoutMs: true,
  releaseWaitMs: true,
  maxWaiting: true,
  maxHoldMs: true,
  bareCalls: true,
  waitingThreshold: true,
  localPassing: true,
  lingerMs: true,
  pushedGrants: true,
  interop: true,
  foreignLocks: true,
  localReentry: true,
  replicas: true,
  shardedPubSub: true,
  runtime: true,
}
const REPLICA_OPTIONS: KnownKeys<Given<'replicas'>> = { acks: true, timeoutMs: true }

type Given<Option extends keyof LockClientOptions> = NonNullable<LockClientOptions[Option]>

export interface ResolvedOptions {
  readonly clientName: string
  readonly lockWatchdogTimeout: number
  readonly watchdogBatchSize: number
  readonly commandBatchSize: number
  readonly fairLockWaitTimeout: number
  readonly resyncInterval: number
  /** The interval of the client's heartbeats. Its waiters count as dead two intervals after the last one. */
  readonly heartbeatMs: number
  readonly commandTimeout: number
  readonly unavailableTimeoutMs: number
  readonly releaseWaitMs: number
  /** undefined: no limit. */
  readonly waitMs: number | undefined
  readonly leaseMs: number | undefined
  readonly maxWaiting: number | undefined
  readonly maxHoldMs: number | undefined
  readonly bareCalls: Given<'bareCalls'>
  readonly onContextEnd: Given<'onContextEnd'>
  readonly graceMs: number
  readonly waitingThreshold: number
  /** undefined: off. */
  readonly describeHolds: true | (() => string | undefined) | undefined
  readonly localPassing: boolean
  /** 0: off. */
  readonly lingerMs: number
  readonly pushedGrants: boolean
  readonly interop: Given<'interop'>
  readonly foreignLocks: ForeignRule
  readonly localReentry: boolean
  readonly replicas: ReplicaAcks | undefined
  readonly shardedPubSub: Given<'shardedPubSub'>
  readonly runtime: Runtime
  /** The same, with timers that do not keep the process alive. */
  readonly background: Runtime
}

// A heartbeat counts for two intervals, and Redis caps liveness (`LONGEST_LIFE_MS` in life.part.lua): otherwise,
// after its clock was set back, dead waiters would stay in the queue for that long.
const LONGEST_HEARTBEAT_MS = 60_000

/** Used unless the option `runtime` replaces them. */
type Runtimes = Pick<ResolvedOptions, 'runtime' | 'background'>

const SYSTEM_RUNTIMES: Runtimes = { runtime: systemRuntime, background: backgroundRuntime }

/** @throws InvalidArgumentError naming the option and what was given */
export function resolveOptions(
  options: LockClientOptions = {},
  runtimes: Runtimes = SYSTEM_RUNTIMES,
): ResolvedOptions {
  checkOptions('options', options, CLIENT_OPTIONS)
  const resolved = {
    clientName: givenOr(options.clientName, `${hostname()}-${process.pid}`.replaceAll(/[:{}]/g, '-')),
    lockWatchdogTimeout: givenOr(options.lockWatchdogTimeout, 30_000),
    watchdogBatchSize: givenOr(options.watchdogBatchSize, 25),
    commandBatchSize: givenOr(options.commandBatchSize, USUAL_ITEMS),
    fairLockWaitTimeout: givenOr(options.fairLockWaitTimeout, 300_000),
    resyncInterval: givenOr(options.resyncInterval, 1_000),
    commandTimeout: givenOr(options.commandTimeout, 3_000),
    unavailableTimeoutMs: givenOr(options.unavailableTimeoutMs, 10_000),
    releaseWaitMs: givenOr(options.releaseWaitMs, 1_000),
    waitMs: options.waitMs,
    leaseMs: options.leaseMs,
    maxWaiting: options.maxWaiting,
    maxHoldMs: options.maxHoldMs,
    bareCalls: givenOr(options.bareCalls, 'warn'),
    onContextEnd: givenOr(options.onContextEnd, 'warn'),
    graceMs: givenOr(options.graceMs, 5_000),
    waitingThreshold: givenOr(options.waitingThreshold, 0),
    describeHolds: describing(options.describeHolds),
    localPassing: givenOr(options.localPassing, true),
    lingerMs: givenOr(options.lingerMs, 0),
    pushedGrants: givenOr(options.pushedGrants, true),
    interop: givenOr(options.interop, 'redisson'),
    foreignLocks: foreignRuleOf(givenOr(options.foreignLocks, 'error')),
    localReentry: givenOr(options.localReentry, false),
    replicas: replicaAcks(options.replicas),
    shardedPubSub: givenOr(options.shardedPubSub, 'auto'),
    ...runtimesOf(options, runtimes),
  }
  check(resolved)
  return {
    ...resolved,
    clientName: wellFormed(resolved.clientName),
    heartbeatMs: Math.min(resolved.resyncInterval, LONGEST_HEARTBEAT_MS),
    commandTimeout: Math.min(resolved.commandTimeout, resolved.unavailableTimeoutMs),
  }
}

/** Only undefined means "not given"; null is rejected like any other invalid value. */
function givenOr<T>(given: T | undefined, usual: T): T {
  return given === undefined ? usual : given
}

function check(options: Omit<ResolvedOptions, 'heartbeatMs'>): void {
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
  checkDuration('waitMs', options.waitMs, 'zero')
  checkLease('leaseMs', options.leaseMs)
  checkMaxWaiting(options.maxWaiting)
  checkDuration('maxHoldMs', options.maxHoldMs, 'positive')
  checkOneOf('bareCalls', options.bareCalls, ['warn', 'allow', 'throw'])
  checkOneOf('onContextEnd', options.onContextEnd, ['warn', 'release', 'keep'])
  checkDuration('graceMs', options.graceMs, 'zero')
  checkDuration('waitingThreshold', options.waitingThreshold, 'zero')
  checkOneOf('localPassing', options.localPassing, [true, false])
  checkOneOf('pushedGrants', options.pushedGrants, [true, false])
  checkInterop(options)
  checkLinger(options.lingerMs, options)
  checkOneOf('localReentry', options.localReentry, [true, false])
  checkOneOf('shardedPubSub', options.shardedPubSub, ['auto', 'on', 'off'])
}

/** With 'none' a release publishes nothing: without pushed grants no waiter would ever be woken. */
function checkInterop({
  interop,
  pushedGrants,
  replicas,
}: Pick<ResolvedOptions, 'interop' | 'pushedGrants' | 'replicas'>): void {
  checkOneOf('interop', interop, ['redisson', 'none'])
  if (interop === 'none' && !pushedGrants) {
    throw new InvalidArgumentError(
      'pushedGrants',
      pushedGrants,
      "true where interop is 'none', because a release sends no message then. Leave it out, or leave interop out",
    )
  }
  if (interop === 'none' && replicas) {
    throw new InvalidArgumentError(
      'replicas',
      replicas,
      "left out where interop is 'none', which needs pushed grants: with replicas there are none. Or leave interop out",
    )
  }
}

function describing(given: LockClientOptions['describeHolds'] = false): ResolvedOptions['describeHolds'] {
  if (typeof given !== 'boolean' && typeof given !== 'function') {
    throw new InvalidArgumentError(
      'describeHolds',
      given,
      'true, false or a function that returns a traceparent',
    )
  }
  return given === false ? undefined : given
}

function replicaAcks(given: LockClientOptions['replicas']): ReplicaAcks | undefined {
  if (given === undefined) {
    return undefined
  }
  checkOptions('replicas', given, REPLICA_OPTIONS)
  const { acks, timeoutMs = 1_000 } = given
  checkInteger('replicas.acks', acks, 1)
  // Redis takes 0 as no timeout.
  checkInteger('replicas.timeoutMs', timeoutMs, 1)
  return { acks, timeoutMs }
}

function runtimesOf({ runtime: given }: LockClientOptions, otherwise: Runtimes): Runtimes {
  if (given === undefined) {
    return otherwise
  }
  const rule = unusableRuntime(given)
  if (rule !== null) {
    throw new InvalidArgumentError('runtime', given, rule)
  }
  return {
    runtime: runtimeWith(otherwise.runtime, given),
    background: runtimeWith(otherwise.background, given),
  }
}
