import { ClientChannel } from './client/client-channel.js'
import { openTarget, targetOf } from './client/connect-target.js'
import { Context, type CallSite } from './context/context.js'
import { awaited, siteToFork, runIn } from './context/ambient.js'
import { inspectAll, type InspectAllOptions, type LocksInspection } from './inspect-all.js'
import { settleWithin } from './runtime/settle-within.js'
import type { LockEvents } from './events.js'
import { warnOfShortWatchdog, type AcquireOptions } from './acquire/acquire-options.js'
import { LockSource, type LockHome } from './lock-source.js'
import type { CountDownLatch } from './synchronizers/count-down-latch.js'
import type { PermitExpirableSemaphore } from './synchronizers/permit-expirable-semaphore.js'
import type { Semaphore } from './synchronizers/semaphore.js'
import { SynchronizerFactory } from './synchronizers/synchronizer-factory.js'
import { openSession, type OpenSession } from './client/open-session.js'
import { resolveOptions, type LockClientOptions } from './options.js'
import { portOf, refusalOfScripts, untilReady } from './redis/open-port.js'
import type { RedisPort } from './redis/redis-port.js'
import { sourceIn } from './redis/redis-source.js'
import type { RedisTarget } from './redis/redis-target.js'
import { shutDown } from './client/shutdown.js'
import { LockThread } from './lock-thread.js'
import { checkWork } from './arguments/lazy-result.js'
import { nativeSignal } from './arguments/native-signal.js'
import { checkDuration, checkFunction, checkOneOf, checkOptions } from './arguments/validate.js'
import { showsOnly } from './runtime/shows-only.js'

const RUN_OPTIONS = { signal: true } as const
const FORK_OPTIONS = { detached: true } as const
const CLOSE_OPTIONS = { graceMs: true } as const
const EVENTS: readonly (keyof LockEvents)[] = [
  'lost',
  'renewal-failed',
  'unreachable',
  'release-failed',
  'primary-changed',
  'unexpected-reply',
  'waiting',
]

/**
 * One participant: all locks from it are held under its client id. A service needs one per process and Redis. Opens
 * one extra connection, for messages, and never closes a connection it was given.
 */
export class LockClient extends LockSource {
  /** @internal */
  readonly session: OpenSession
  /** @internal */
  protected readonly home: LockHome
  private readonly synchronizers: SynchronizerFactory
  private readonly inbox: ClientChannel
  private closing: Promise<void> | null = null

  /**
   * Uses an existing client of ioredis, iovalkey or node-redis, and opens no connection by itself. A node-redis
   * client may be connected later. In tests, a `TestRedis` of `@holdfast/testing`.
   * @throws InvalidArgumentError
   */
  constructor(redis: RedisTarget, options?: LockClientOptions)
  /** @internal */
  constructor(redis: unknown, options: LockClientOptions | undefined, port: RedisPort)
  constructor(redis: unknown, options?: LockClientOptions, port?: RedisPort) {
    super()
    const resolved = resolveOptions(options, sourceIn(redis) ?? undefined)
    this.session = openSession(port ?? portOf(redis, resolved), resolved)
    this.inbox = new ClientChannel(this.session.waiter.topics, this.session)
    this.home = { session: this.session, inbox: this.inbox, thread: null }
    this.synchronizers = new SynchronizerFactory(this.session)
    warnOfShortWatchdog(resolved.lockWatchdogTimeout)
  }

  /**
   * Connects to a URL or options, or takes an existing client; resolves when Redis answers, within
   * `unavailableTimeoutMs`. A connection opened here is closed by `close`, and keeps the process alive only while
   * locks or permits are held, calls wait, or commands are under way. A node-redis client that is not open yet is
   * connected. A URL (`redis:`, `rediss:`, `valkey:`, `valkeys:`) goes to ioredis if that is installed, else to
   * node-redis, else to iovalkey. Options, a plain object, go to node-redis if they have a `url` or a `socket`,
   * else to ioredis or iovalkey.
   * @throws RedisUnavailableError no answer within `unavailableTimeoutMs`; at once for a wrong password or user, an
   *   unknown host, a bad certificate, a user that may not run scripts, a server without Lua, or one older than Redis 6.2
   * @throws InvalidArgumentError also for a database that Redis refuses
   */
  static async connect(target: string | object, options?: LockClientOptions): Promise<LockClient> {
    const usable = targetOf(target)
    const port = await openTarget(usable, resolveOptions(options, sourceIn(usable) ?? undefined))
    const client = new LockClient(usable, options, port)
    const { runtime, options: resolved } = client.session
    try {
      await untilReady(port, runtime, resolved.unavailableTimeoutMs)
      await client.begin(port)
    } catch (error) {
      await client.close({ graceMs: 0 })
      throw error
    }
    return client
  }

  /** `<clientName>~<random>`: the owner prefix of every lock of this client. */
  get clientId(): string {
    return this.session.clientId
  }

  /**
   * Returns a semaphore: it limits concurrency to its number of permits. A permit has no owner and no lease.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getSemaphore(name: string): Semaphore {
    return this.synchronizers.semaphore(name)
  }

  /**
   * Returns a semaphore whose permits have leases: each expires unless renewed.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getPermitExpirableSemaphore(name: string): PermitExpirableSemaphore {
    return this.synchronizers.permitExpirableSemaphore(name)
  }

  /**
   * Returns a latch that releases all its waiters when it has been counted down to zero.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getCountDownLatch(name: string): CountDownLatch {
    return this.synchronizers.countDownLatch(name)
  }

  /**
   * Runs the callback as one logical thread: all it calls, awaits and starts re-enters its locks. Inside a context it
   * joins that context.
   * @param options.signal ends every wait inside, for locks and permits, as if passed to each call; locks already
   *   held stay held
   * @throws InvalidArgumentError
   */
  run<T>(callback: () => T, options: Pick<AcquireOptions, 'signal'> = {}): T {
    checkWork('callback', callback)
    checkOptions('options', options, RUN_OPTIONS)
    const signal = nativeSignal(options.signal)
    const { contexts } = this.session
    const here = contexts.current
    if (here?.context.alive !== true) {
      return this.open(null, callback, signal)
    }
    const work = (): T => awaited(callback)
    return signal ? contexts.enter(here, work, signal) : work()
  }

  /**
   * Runs the callback as a new logical thread inside the current one, for fan-out: it excludes its siblings and its
   * parent. An unlimited wait for a lock that an enclosing context holds throws SelfDeadlockError, unless `detached`
   * declares that no enclosing context waits for the callback; then signals of enclosing contexts do not end its
   * waits either. Contexts of other clients stay: `detached` of this package leaves those too.
   * @throws InvalidArgumentError
   */
  fork<T>(callback: () => T, options: { detached?: boolean | undefined } = {}): T {
    checkWork('callback', callback)
    checkOptions('options', options, FORK_OPTIONS)
    checkOneOf('detached', options.detached, [undefined, true, false])
    return options.detached === true
      ? this.open(null, callback, null)
      : this.open(siteToFork(this.session.contexts), callback)
  }

  /** Creates a logical thread that is passed explicitly, without AsyncLocalStorage. */
  thread(): LockThread {
    const context = new Context(this.session.nextThreadId(), null)
    return new LockThread(context.id, { ...this.home, thread: { context, frame: null } })
  }

  /** The id of the logical thread around the caller, for `isHeldByThread`; undefined outside any context. */
  get currentThreadId(): number | undefined {
    const here = this.session.contexts.current
    return here?.context.alive === true ? here.context.id : undefined
  }

  /**
   * Lists the locks that are held, by SCAN over the keys of Redis: for operations, not for application code. A
   * foreign hash that looks like a lock (an owner, a number and a time to live) is listed too.
   * @param options.match names, as a SCAN pattern, default all
   * @param options.limit maximum number of locks, default 100
   * @param options.maxSteps maximum number of SCAN steps of about 100 keys, default 1,000
   * @throws InvalidArgumentError, ClientClosedError, RedisUnavailableError, or the reason of `options.signal`
   */
  inspectAll(options: InspectAllOptions = {}): Promise<LocksInspection> {
    return inspectAll(this.session, options)
  }

  /** Adds a listener. One that throws affects neither the lock nor other listeners. @throws InvalidArgumentError */
  on<E extends keyof LockEvents>(event: E, listener: (event: LockEvents[E]) => void): this {
    checkOneOf('event', event, EVENTS)
    checkFunction('listener', listener)
    this.session.events.on(event, listener)
    return this
  }

  /** Removes a listener. @throws InvalidArgumentError */
  off<E extends keyof LockEvents>(event: E, listener: (event: LockEvents[E]) => void): this {
    checkOneOf('event', event, EVENTS)
    checkFunction('listener', listener)
    this.session.events.off(event, listener)
    return this
  }

  /**
   * Rejects new calls, ends waits with ClientClosedError, waits up to `graceMs` for holders, then aborts their
   * signals and releases their locks. May be called twice.
   * @param options.graceMs how long holders have to finish, ms, default: the client's `graceMs`, 5,000
   * @throws InvalidArgumentError
   */
  close(options: Pick<LockClientOptions, 'graceMs'> = {}): Promise<void> {
    checkOptions('options', options, CLOSE_OPTIONS)
    const { graceMs = this.session.options.graceMs } = options
    checkDuration('graceMs', graceMs, 'zero')
    this.closing ??= shutDown(this.session, graceMs)
    return this.closing
  }

  /** Closes the client, for `await using`. See `close`. @throws as `close` */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** @throws RedisUnavailableError this user lacks a permission that every lock needs */
  private async begin(port: RedisPort): Promise<void> {
    const { runtime, options, serverAsked, runner } = this.session
    const refusals: (Error | null)[] = []
    const looking = refusalOfScripts(port).then((refusal) => refusals.push(refusal))
    await settleWithin(
      Promise.all([this.inbox.open(), this.inbox.check(), looking, serverAsked]),
      options.commandTimeout,
      runtime,
    )
    const refusal = runner.unfit ?? refusals[0]
    if (refusal) {
      throw refusal
    }
  }

  private open<T>(forkedFrom: CallSite | null, callback: () => T, signal?: AbortSignal | null): T {
    const { contexts, contextEnds } = this.session
    const context = new Context(this.session.nextThreadId(), forkedFrom)
    const inside = (): T => runIn(context, callback, (ended) => contextEnds.ended(ended))
    return contexts.enter({ context, frame: null }, inside, signal)
  }
}

showsOnly(LockClient, ['clientId'])
