import { Acquirer } from './acquirer.js'
import { ClientInbox } from './client-inbox.js'
import { Context, type Place } from './context.js'
import { limited } from './limited.js'
import type { LockEventListener, LockEventName } from './events.js'
import { Lock } from './locks/lock.js'
import { ReentrantProtocol } from './locks/reentrant-protocol.js'
import { openSession, type OpenSession } from './open-session.js'
import { resolveOptions, type LockClientOptions } from './options.js'
import { connectPort, portOf, untilReady, type RedisTarget } from './redis/open-port.js'
import type { IoredisClient } from './redis/ioredis-client.js'
import type { RedisPort } from './redis/redis-port.js'
import { shutDown } from './shutdown.js'
import { LockThread } from './thread.js'
import { checkDuration, checkFunction, checkName, checkOneOf } from './validate.js'

const EVENTS: readonly LockEventName[] = ['lost', 'renewal-failed', 'release-failed', 'waiting']

/**
 * One participant: every lock it gives out is held under its client id. One per process and Redis is what a
 * service needs. Opens one extra connection, for messages, and never closes one it was given.
 */
export class LockClient {
  private readonly session: OpenSession
  private readonly acquirer: Acquirer
  private readonly inbox: ClientInbox
  private closing: Promise<void> | null = null

  /**
   * On a client that is already there; connects nothing by itself.
   * @throws InvalidArgumentError
   */
  constructor(redis: IoredisClient, options?: LockClientOptions)
  /** @internal */
  constructor(redis: IoredisClient, options: LockClientOptions | undefined, port: RedisPort)
  constructor(redis: IoredisClient, options?: LockClientOptions, port?: RedisPort) {
    const resolved = resolveOptions(options)
    this.session = openSession(port ?? portOf(redis), resolved)
    this.acquirer = new Acquirer(this.session)
    this.inbox = new ClientInbox(this.session.waiter.topics, this.session.held, this.session.clientId)
  }

  /**
   * Opens a connection for a URL or options of ioredis (closed again by `close`), or takes a client as it is.
   * Resolves when Redis answers.
   * @throws RedisUnavailableError not within `unavailableTimeoutMs`; InvalidArgumentError
   */
  static async connect(target: RedisTarget, options?: LockClientOptions): Promise<LockClient> {
    resolveOptions(options)
    const port = await connectPort(target)
    const client = new LockClient(target as IoredisClient, options, port)
    const { clock, options: resolved } = client.session
    try {
      await untilReady(port, clock, resolved.unavailableTimeoutMs)
    } catch (error) {
      await client.close({ graceMs: 0 })
      throw error
    }
    await limited(client.inbox.open(), resolved.commandTimeout, clock)
    return client
  }

  /** `<clientName>~<random>`: what the locks of this client are held under. */
  get clientId(): string {
    return this.session.clientId
  }

  /** @throws InvalidArgumentError, ClientClosedError */
  getLock(name: string): Lock {
    return this.lockOf(name, null)
  }

  /**
   * Runs the callback as one logical thread: what it calls, awaits and starts re-enters its locks. Inside a
   * context it joins that one.
   */
  run<T>(callback: () => T): T {
    checkFunction('callback', callback)
    const here = this.session.contexts.current
    return here?.context.alive === true ? callback() : this.open(null, callback)
  }

  /**
   * Runs the callback as a new logical thread inside the current one, for fan-out: it excludes its siblings and
   * its parent. Waiting without a limit for what an enclosing context holds is a SelfDeadlockError, unless
   * `detached` says that nobody there waits for the callback.
   */
  fork<T>(callback: () => T, options: { detached?: boolean } = {}): T {
    checkFunction('callback', callback)
    checkOneOf('detached', options.detached, [undefined, true, false])
    return this.open(options.detached === true ? null : (this.session.contexts.current ?? null), callback)
  }

  /** A logical thread that is passed by hand, without AsyncLocalStorage. */
  thread(): LockThread {
    const context = new Context(this.session.nextThreadId(), null)
    return new LockThread(context, (name) => this.lockOf(name, { context, frame: null }))
  }

  /** The id of the logical thread around the caller, for `isHeldByThread`; undefined outside any context. */
  get currentThreadId(): number | undefined {
    const here = this.session.contexts.current
    return here?.context.alive === true ? here.context.id : undefined
  }

  /** A listener that throws harms neither the lock nor the other listeners. @throws InvalidArgumentError */
  on<E extends LockEventName>(event: E, listener: LockEventListener<E>): this {
    checkOneOf('event', event, EVENTS)
    checkFunction('listener', listener)
    this.session.events.on(event, listener)
    return this
  }

  off<E extends LockEventName>(event: E, listener: LockEventListener<E>): this {
    this.session.events.off(event, listener)
    return this
  }

  /**
   * Refuses new calls, ends waits with ClientClosedError, waits for holders, then aborts their signals and gives
   * their locks back. Safe to call twice.
   * @param options.graceMs how long holders have to finish, default 5,000
   */
  close(options: { graceMs?: number } = {}): Promise<void> {
    const { graceMs = 5_000 } = options
    checkDuration('graceMs', graceMs, 'zero')
    this.closing ??= shutDown(this.session, graceMs)
    return this.closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  private lockOf(name: string, thread: Place | null): Lock {
    checkName(name)
    this.session.assertOpen(name)
    void this.inbox.open()
    const protocol = new ReentrantProtocol(this.session.runner, name, this.session.keyPrefix)
    return new Lock(this.session, this.acquirer, protocol, thread)
  }

  private open<T>(forkedFrom: Place | null, callback: () => T): T {
    const context = new Context(this.session.nextThreadId(), forkedFrom)
    return this.session.contexts.enter({ context, frame: null }, () => runIn(context, callback))
  }
}

/** The context ends when the callback has settled, before whoever awaits it goes on. */
function runIn<T>(context: Context, callback: () => T): T {
  const end = (): void => {
    context.alive = false
  }
  try {
    const result = callback()
    if (!isThenable(result)) {
      end()
      return result
    }
    // A thenable (a query builder) begins its work when it is awaited: that is part of the callback.
    const settled = Promise.resolve(result)
    settled.then(end, end)
    return settled as T
  } catch (error) {
    end()
    throw error
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function'
}
