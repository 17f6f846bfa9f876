import { ClientChannel } from './client/client-channel.js'
import { openTarget, targetOf } from './client/connect-target.js'
import { Context, type CallSite } from './context.js'
import { placeToFork, runIn } from './contexts.js'
import type { MultiLock } from './compound/multi-lock.js'
import type { RedLock, RedLockArguments, RedLockOptions } from './compound/red-lock.js'
import { inspectAll, type InspectAllOptions, type LocksInspection } from './inspect/inspect-all.js'
import { settleWithin } from './runtime/settle-within.js'
import type { LockEventListener, LockEventName } from './events.js'
import type { SpinLockOptions } from './protocols/backoff.js'
import type { FencedLock } from './locks/fenced-lock.js'
import type { FencedLockOptions } from './protocols/fenced-options.js'
import type { Lock } from './locks/lock.js'
import { warnOfShortWatchdog } from './acquire/lease-argument.js'
import { LockFactory } from './lock-factory.js'
import type { ReadWriteLock, ReadWriteLockOptions } from './locks/read-write-lock.js'
import type { CountDownLatch } from './synchronizers/count-down-latch.js'
import type { PermitExpirableSemaphore } from './synchronizers/permit-expirable-semaphore.js'
import type { Semaphore } from './synchronizers/semaphore.js'
import { SynchronizerFactory } from './synchronizers/synchronizer-factory.js'
import { openSession, type OpenSession } from './client/open-session.js'
import { resolveOptions, type LockClientOptions } from './options.js'
import { portOf, refusalOfScripts, untilReady, type RedisTarget } from './redis/open-port.js'
import type { IoredisClient } from './redis/ioredis/client.js'
import type { IoredisCluster } from './redis/ioredis/cluster.js'
import type { NodeRedisClient } from './redis/node-redis/client.js'
import type { RedisPort } from './redis/redis-port.js'
import { shutDown } from './client/shutdown.js'
import { LockThread } from './lock-thread.js'
import { checkDuration, checkFunction, checkOneOf, checkOptions, checkSignal } from './arguments/validate.js'

const RUN_OPTIONS = { signal: true } as const
const FORK_OPTIONS = { detached: true } as const
const CLOSE_OPTIONS = { graceMs: true } as const
const EVENTS: readonly LockEventName[] = [
  'lost',
  'renewal-failed',
  'release-failed',
  'primary-changed',
  'unexpected-reply',
  'waiting',
]

/**
 * One participant: every lock it gives out is held under its client id. One per process and Redis is what a
 * service needs. Opens one extra connection, for messages, and never closes one it was given.
 */
export class LockClient {
  private readonly session: OpenSession
  private readonly locks: LockFactory
  private readonly synchronizers: SynchronizerFactory
  private readonly inbox: ClientChannel
  private closing: Promise<void> | null = null

  /**
   * On a client that is already there; connects nothing by itself. A node-redis client may be connected later.
   * @throws InvalidArgumentError
   */
  constructor(redis: IoredisClient | IoredisCluster | NodeRedisClient, options?: LockClientOptions)
  /** @internal */
  constructor(redis: unknown, options: LockClientOptions | undefined, port: RedisPort)
  constructor(redis: unknown, options?: LockClientOptions, port?: RedisPort) {
    const resolved = resolveOptions(options)
    this.session = openSession(port ?? portOf(redis, resolved), resolved)
    this.inbox = new ClientChannel(this.session.waiter.topics, this.session)
    this.locks = new LockFactory(this.session, this.inbox)
    this.synchronizers = new SynchronizerFactory(this.session)
    warnOfShortWatchdog(resolved.lockWatchdogTimeout)
  }

  /**
   * Opens a connection for a URL or options (closed again by `close`), or takes a client; one of node-redis that is
   * not open yet it connects. A URL (`redis:`, `rediss:`, `valkey:`, `valkeys:`) is for ioredis when that is
   * installed, else for node-redis, else for iovalkey. Options, a plain object, with a `url` or a `socket` are those of
   * node-redis, all others those of ioredis or iovalkey. Resolves when Redis answers.
   * @throws RedisUnavailableError not within `unavailableTimeoutMs`; at once for a wrong password or user, an unknown
   *   host, a certificate, a user that may not run scripts, or a server older than
   *   Redis 6.2. InvalidArgumentError
   */
  static async connect(target: RedisTarget, options?: LockClientOptions): Promise<LockClient> {
    const usable = targetOf(target)
    const port = await openTarget(usable, resolveOptions(options))
    const client = new LockClient(usable, options, port)
    const { clock, options: resolved } = client.session
    try {
      await untilReady(port, clock, resolved.unavailableTimeoutMs)
      await client.begin(port)
    } catch (error) {
      await client.close({ graceMs: 0 })
      throw error
    }
    return client
  }

  /** `<clientName>~<random>`: what the locks of this client are held under. */
  get clientId(): string {
    return this.session.clientId
  }

  /** @throws InvalidArgumentError, ClientClosedError */
  getLock(name: string): Lock {
    return this.locks.lock(name, null)
  }

  /**
   * A lock that serves its waiters in the order in which they came, whatever process they are in (I10). A waiter
   * whose process has died delays the next by two `resyncInterval`s at most.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getFairLock(name: string): Lock {
    return this.locks.fairLock(name, null)
  }

  /**
   * Many readers, or one writer. Ask for it once and keep it where calls outside contexts use `unlock()`: what they
   * hold is remembered by the lock object.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getReadWriteLock(name: string, options: ReadWriteLockOptions = {}): ReadWriteLock {
    return this.locks.readWriteLock(name, options, null)
  }

  /**
   * A lock whose holds have fencing tokens, for a resource that refuses old ones. A name is for one kind of lock:
   * who takes it by `getLock` gets no token, and is not counted.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getFencedLock(name: string, options?: FencedLockOptions): FencedLock {
    return this.locks.fencedLock(name, options, null)
  }

  /**
   * A lock whose waiters ask again after pauses instead of being told: no channel, no message. For very many names
   * that live for a moment.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getSpinLock(name: string, options?: SpinLockOptions): Lock {
    return this.locks.spinLock(name, options, null)
  }

  /**
   * A lock that is refused to the owner that has it, with a NotReentrantError.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getNonReentrantLock(name: string): Lock {
    return this.locks.nonReentrantLock(name, null)
  }

  /** The same in order of arrival, as `getFairLock`. @throws InvalidArgumentError, ClientClosedError */
  getNonReentrantFairLock(name: string): Lock {
    return this.locks.nonReentrantFairLock(name, null)
  }

  /**
   * All of several locks, or none, of any kinds and of any clients. The contexts of this client say who owns it.
   * @throws InvalidArgumentError none, one of them twice, or not a lock; ClientClosedError
   */
  getMultiLock(...locks: Lock[]): MultiLock {
    return this.locks.multiLock(locks, null)
  }

  /**
   * One lock that several independent Redis keep: a lock of one client for each, and whoever has most of them holds
   * it. The contexts of this client say who owns it.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getRedLock(...locks: Lock[]): RedLock
  getRedLock(locks: readonly Lock[], options?: RedLockOptions): RedLock
  getRedLock(...args: RedLockArguments): RedLock {
    return this.locks.redLock(args, null)
  }

  /**
   * A counter of permits: so many may do something at a time. A permit has no owner and no end.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getSemaphore(name: string): Semaphore {
    return this.synchronizers.semaphore(name)
  }

  /**
   * A semaphore whose permits end by themselves.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getPermitExpirableSemaphore(name: string): PermitExpirableSemaphore {
    return this.synchronizers.permitExpirableSemaphore(name)
  }

  /**
   * Lets everybody wait until so many things have happened.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getCountDownLatch(name: string): CountDownLatch {
    return this.synchronizers.countDownLatch(name)
  }

  /**
   * Runs the callback as one logical thread: what it calls, awaits and starts re-enters its locks. Inside a
   * context it joins that one.
   * @param options.signal ends every wait inside, for locks and permits, as if each call had been given it; what is
   *   held stays held
   * @throws InvalidArgumentError
   */
  run<T>(callback: () => T, options: { signal?: AbortSignal | undefined } = {}): T {
    checkFunction('callback', callback)
    checkOptions('options', options, RUN_OPTIONS)
    const { signal } = options
    checkSignal(signal)
    const { contexts } = this.session
    const here = contexts.current
    if (here?.context.alive !== true) {
      return this.open(null, callback, signal)
    }
    return signal ? contexts.enter(here, callback, signal) : callback()
  }

  /**
   * Runs the callback as a new logical thread inside the current one, for fan-out: it excludes its siblings and
   * its parent. Waiting without a limit for what an enclosing context holds is a SelfDeadlockError, unless
   * `detached` says that nobody there waits for the callback: nor does a signal of theirs end its waits.
   * @throws InvalidArgumentError
   */
  fork<T>(callback: () => T, options: { detached?: boolean | undefined } = {}): T {
    checkFunction('callback', callback)
    checkOptions('options', options, FORK_OPTIONS)
    checkOneOf('detached', options.detached, [undefined, true, false])
    return options.detached === true
      ? this.open(null, callback, null)
      : this.open(placeToFork(this.session.contexts), callback)
  }

  /** A logical thread that is passed by hand, without AsyncLocalStorage. */
  thread(): LockThread {
    const context = new Context(this.session.nextThreadId(), null)
    return new LockThread(context, this.locks)
  }

  /** The id of the logical thread around the caller, for `isHeldByThread`; undefined outside any context. */
  get currentThreadId(): number | undefined {
    const here = this.session.contexts.current
    return here?.context.alive === true ? here.context.id : undefined
  }

  /**
   * The locks that somebody has, found among the keys of Redis (SCAN): for operations, not for work. A hash of
   * somebody else's that looks like a lock, owner and number, with a time to live, is taken for one.
   * @param options.match names, as a pattern of SCAN, default all
   * @param options.limit the most locks, default 100
   * @param options.maxSteps the most steps of about 100 keys, default 1,000
   * @throws InvalidArgumentError, ClientClosedError, RedisUnavailableError, or the reason of `options.signal`
   */
  inspectAll(options: InspectAllOptions = {}): Promise<LocksInspection> {
    return inspectAll(this.session, options)
  }

  /** A listener that throws harms neither the lock nor the other listeners. @throws InvalidArgumentError */
  on<E extends LockEventName>(event: E, listener: LockEventListener<E>): this {
    checkOneOf('event', event, EVENTS)
    checkFunction('listener', listener)
    this.session.events.on(event, listener)
    return this
  }

  /** @throws InvalidArgumentError */
  off<E extends LockEventName>(event: E, listener: LockEventListener<E>): this {
    checkOneOf('event', event, EVENTS)
    checkFunction('listener', listener)
    this.session.events.off(event, listener)
    return this
  }

  /**
   * Refuses new calls, ends waits with ClientClosedError, waits for holders, then aborts their signals and gives
   * their locks back. Safe to call twice.
   * @param options.graceMs how long holders have to finish, default 5,000
   * @throws InvalidArgumentError
   */
  close(options: { graceMs?: number | undefined } = {}): Promise<void> {
    checkOptions('options', options, CLOSE_OPTIONS)
    const { graceMs = 5_000 } = options
    checkDuration('graceMs', graceMs, 'zero')
    this.closing ??= shutDown(this.session, graceMs)
    return this.closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** @throws RedisUnavailableError this user may not do what every lock needs */
  private async begin(port: RedisPort): Promise<void> {
    const { clock, options, serverAsked, runner } = this.session
    const refusals: (Error | null)[] = []
    const looking = refusalOfScripts(port).then((refusal) => refusals.push(refusal))
    await settleWithin(Promise.all([this.inbox.open(), looking, serverAsked]), options.commandTimeout, clock)
    const refusal = runner.unfit ?? refusals[0]
    if (refusal) {
      throw refusal
    }
  }

  private open<T>(forkedFrom: CallSite | null, callback: () => T, signal?: AbortSignal | null): T {
    const context = new Context(this.session.nextThreadId(), forkedFrom)
    return this.session.contexts.enter({ context, frame: null }, () => runIn(context, callback), signal)
  }
}
