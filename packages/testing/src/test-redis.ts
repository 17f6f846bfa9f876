import type { Runtime } from '@holdfast/core'
import { checkKeys } from './check-keys.js'
import { asClientHasIt } from './client/line.js'
import { Port } from './client/port.js'
import type { Permissions } from './engine/permissions.js'
import { ErrorReply } from './engine/reply.js'
import type { FailNextOptions, Failure } from './failures.js'
import { listen, type ListenOptions, type TestRedisListener } from './server/listener.js'
import { TestServer } from './test-server.js'
import { VirtualTime } from './virtual-time.js'

/** How a TestRedis keeps time. */
export interface TestRedisOptions {
  /**
   * How time passes for it and for all clients on it. Default 'real': as outside, and `advance` adds to it. 'manual':
   * only by `advance`; without it a wait never ends, and no lease does.
   */
  readonly time?: 'real' | 'manual' | undefined
}

const CONDITIONS = ['well', 'loading', 'read only', 'out of memory']

/** Options that `start` keeps. */
export interface StartOptions {
  /** Whether all data and scripts are gone, as after the restart of a server that keeps nothing. Default false. */
  readonly empty?: boolean | undefined
}

/**
 * A Redis in the process, for tests of code that uses Holdfast: `new LockClient(new TestRedis())`. It runs the scripts
 * that a real one would run. Clients on one TestRedis share its keys, as processes share a server; it needs no closing.
 */
export class TestRedis {
  /** The symbol by which LockClient finds it. */
  readonly '@holdfast/redis': object
  private readonly time: VirtualTime
  private readonly server: TestServer

  /** Makes a server of its own, empty. @throws TypeError an unknown option or `time` */
  constructor(options: TestRedisOptions = {}) {
    checkKeys('options', options, ['time'])
    const { time = 'real' } = options
    if (!['real', 'manual'].includes(time)) {
      throw new TypeError(`time must be 'real' or 'manual', but is ${JSON.stringify(time)}`)
    }
    this.time = new VirtualTime(time === 'real')
    this.server = new TestServer({ now: () => this.time.wallNow() })
    const { runtime, background } = this.time
    this['@holdfast/redis'] = {
      runtime,
      background,
      open: (itsRuntime: Runtime) => new Port(itsRuntime, this.server),
    }
  }

  /**
   * Lets time pass at once: leases end, watchdogs renew, waits run out, in the order in which they would. Resolves when
   * no command, answer or message of a client is on its way any more.
   * @throws TypeError `ms` is not a finite number from 0 on
   */
  async advance(ms: number): Promise<void> {
    if (typeof (ms as unknown) !== 'number' || !Number.isFinite(ms) || ms < 0) {
      throw new TypeError(`ms must be a finite number from 0 on, but is ${String(ms)}`)
    }
    await this.time.advance(ms)
  }

  /** Waits until no command, answer or message of a client is on its way; lets no time pass. Never rejects. */
  settle(): Promise<void> {
    return this.time.settle()
  }

  /**
   * Deletes the lock of that name, whoever has it, as an eviction or a DEL by hand does: nobody is told. The holder
   * finds out when it renews, verifies or releases. Returns whether there was one.
   */
  drop(name: string): boolean {
    return this.server.engine.command(['DEL', name]) === 1
  }

  /** Breaks every connection; from now on none is made. Keys stay, and go on ending. Twice is as once. */
  stop(): void {
    this.server.stop()
  }

  /**
   * Lets clients connect again after `stop`, at once. Without it, with `empty`: every connection breaks and comes
   * back.
   * @throws TypeError an unknown option
   */
  start(options: StartOptions = {}): void {
    checkKeys('options', options, ['empty'])
    const { empty = false } = options
    if (empty) {
      this.server.stop()
      this.server.empty()
    }
    this.server.start()
  }

  /**
   * Makes the next command of a lock fail, or the next `times`.
   * @throws TypeError it is no failure, or an option is unknown or wrong
   */
  failNext(failure: Failure, options: FailNextOptions = {}): void {
    checkFailure(failure)
    checkKeys('options', options, ['times', 'script'])
    const { times = 1, script = '' } = options
    if (!Number.isInteger(times) || times < 1) {
      throw new TypeError(`times must be a whole number from 1 on, but is ${String(times)}`)
    }
    if (typeof (script as unknown) !== 'string') {
      throw new TypeError(`script must be the name of a script, but is ${JSON.stringify(script)}`)
    }
    this.server.failures.plan(failure, options)
  }

  /**
   * Lets other processes in, which speak to it as to a Redis: `redis-cli`, ioredis, node-redis, with RESP 2 or 3. No
   * MULTI, no password, one database; only this machine, unless `host` says otherwise. Resolves when it listens; the
   * process stays alive until `close()`. Time passes for them as for everybody here.
   * @throws TypeError an option that is wrong; rejects with Node's error where the port is taken
   */
  listen(options: ListenOptions = {}): Promise<TestRedisListener> {
    return listen(this.server, options)
  }

  /** Commands that the server refuses: none, everything while it loads, writes, or what needs memory. */
  set condition(condition: 'well' | 'loading' | 'read only' | 'out of memory') {
    if (!CONDITIONS.includes(condition)) {
      throw new TypeError(`condition must be one of ${CONDITIONS.join(', ')}, but is ${condition}`)
    }
    const { state } = this.server.engine
    state.isLoading = condition === 'loading'
    state.isReplica = condition === 'read only'
    state.maxMemory = condition === 'out of memory' ? 1 : 0
  }

  /**
   * Sets what the user of all clients may do from now on, as an ACL says it; null: everything.
   * @throws TypeError an unknown permission
   */
  restrict(permissions: Permissions | null): void {
    if (permissions !== null) {
      checkKeys('permissions', permissions, ['deniedCommands', 'keys', 'channels'])
    }
    this.server.restrict(permissions)
  }

  /**
   * Runs any command at once, also while the server is stopped: to look at keys, or to change them. Resolves with what
   * ioredis would give.
   * @throws an error named ReplyError, with Redis's text
   */
  async command(name: string, ...args: readonly (string | number | Uint8Array)[]): Promise<unknown> {
    const reply = this.server.engine.command([
      name,
      ...args.map((each) => (typeof each === 'number' ? String(each) : each)),
    ])
    if (reply instanceof ErrorReply) {
      throw reply
    }
    return Promise.resolve(asClientHasIt(reply))
  }

  /**
   * Runs a script by its SHA1, as ioredis does: for `fencedSet`, and for scripts of your own.
   * @throws as `command`
   */
  evalsha(sha1: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown> {
    return this.command('EVALSHA', sha1, numberOfKeys, ...keysAndArgs)
  }

  /** Runs a script, as ioredis does. @throws as `command` */
  eval(lua: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown> {
    return this.command('EVAL', lua, numberOfKeys, ...keysAndArgs)
  }
}

/** @throws TypeError */
function checkFailure(failure: unknown): void {
  const kinds = Object.entries(typeof failure === 'object' && failure ? failure : {})
  const [kind, how] = kinds[0] ?? []
  const isKnown =
    kind === 'error'
      ? typeof how === 'string'
      : (kind === 'cut' || kind === 'silence') && (how === 'before' || how === 'after')
  if (!isKnown || kinds.length > 1) {
    throw new TypeError(
      `failure must be { error: text }, or { cut } or { silence } with 'before' or 'after', but is ${JSON.stringify(failure)}`,
    )
  }
}
