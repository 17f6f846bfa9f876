import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals'
import { FaultProxy, RedisServer, type RedisServerOptions } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { createHash, randomUUID } from 'node:crypto'
import { LockClient, type LockClientOptions } from '../../../src/index.js'
import { portOf } from '../../../src/redis/open-port.js'
import { ScriptRunner } from '../../../src/redis/script-runner.js'
import { USUAL_ITEMS } from '../../../src/redis/batch.js'
import { allLuaSources } from './all-lua-sources.js'
import { backgroundRuntime } from '../../../src/runtime/runtime.js'
import { carrierOf, connectionTo } from './carrier.js'
import { staysByDesign } from './lasting-keys.js'
import { SlowClock } from './slow-clock.js'
import { openRedis, topologyCredentials, topologyOptions } from './topology.js'

/** The Redis of all tests. */
export const redisUrl = process.env.HOLDFAST_TEST_REDIS_URL ?? 'redis://127.0.0.1:6379'

const scriptsByDigest = Object.fromEntries(
  Object.values(allLuaSources).map((lua) => [createHash('sha1').update(lua).digest('hex'), lua]),
)

/** The value of a key. */
export interface KeyContents {
  readonly type: string
  readonly value: unknown
}

/**
 * Which Redis a test has. `file`: a server of its file, empty at its beginning. `test`: a server of its own, which it may
 * stop, fill or reconfigure. `all`: the one of all tests, or the topology that the contract suites run on.
 */
export type Sharing = 'file' | 'test' | 'all'

export interface RigOptions extends RedisServerOptions {
  readonly redis?: Sharing
}

/**
 * A Redis, what one test opened on it, and the check that the test left nothing there (I5).
 * Unhandled rejections need no listener here: Jest fails the test they come from (and its sandbox has a copy of
 * `process`, whose listeners hear nothing).
 */
export class Rig {
  admin!: Redis
  private started: RedisServer | undefined
  private prefix = ''
  private tests = 0
  private readonly closers: (() => unknown)[] = []
  private readonly redis: Sharing
  private readonly serverOptions: RedisServerOptions

  constructor({ redis = 'file', ...serverOptions }: RigOptions = {}) {
    this.redis = redis
    this.serverOptions = serverOptions
  }

  get server(): RedisServer {
    if (!this.started) throw new Error('There is no server here, or none yet.')
    return this.started
  }

  get url(): string {
    return this.started?.url ?? redisUrl
  }

  async start(): Promise<void> {
    if (this.redis === 'all') {
      this.admin = openRedis(redisUrl, { lazyConnect: true })
      await this.admin.connect()
      return
    }
    this.started = await RedisServer.start(this.serverOptions)
    // While Redis loads its data, ioredis looks again after the time that Redis estimates, up to 10 s.
    this.admin = new Redis(this.url, { retryStrategy: () => 20, maxLoadingRetryTime: 100 })
    this.admin.on('error', () => undefined)
  }

  /** A server of a file is emptied, and has every script loaded, so that a command runs the first time it is sent. */
  async begin(): Promise<void> {
    this.tests += 1
    this.prefix = `t${randomUUID().slice(0, 8)}`
    if (this.redis === 'file') {
      await this.admin.flushall()
      await this.loadScripts()
    } else {
      await this.admin.ping()
    }
  }

  /** Those that are not there: to send all of them took more time than most tests. */
  private async loadScripts(): Promise<void> {
    const scripts = Object.entries(scriptsByDigest)
    const known = (await this.admin.script('EXISTS', ...scripts.map(([sha1]) => sha1))) as number[]
    const missing = scripts.filter((_, i) => known[i] === 0)
    await Promise.all(missing.map(([, lua]) => this.admin.script('LOAD', lua)))
  }

  /** A lock name of this test alone. */
  name(suffix = 'lock'): string {
    return `${this.prefix}:${suffix}`
  }

  /** The name of every connection of one test, by which the leftovers of it are told from those of others. */
  get connectionName(): string {
    return `test-${this.tests}`
  }

  /** To a server of its own: one that reconnects quickly unless told otherwise. */
  connection(options: object = {}, at?: { readonly port: number }): Redis {
    const connection = this.started
      ? connectionTo(`redis://127.0.0.1:${(at ?? this.started).port}`, {
          connectionName: this.connectionName,
          retryStrategy: () => 20,
          // How long ioredis keeps a timer after `disconnect` of what is closed already.
          disconnectTimeout: 50,
          ...options,
        })
      : openRedis(redisUrl, { ...topologyCredentials, ...options })
    this.closers.push(() => connection.disconnect())
    return connection
  }

  /** A client that is closed after the test. */
  client(options: LockClientOptions = {}, connection = this.connection()): Promise<LockClient> {
    return this.connect(carrierOf(connection), options)
  }

  /** One that gives up sooner than a busy machine may connect: its connection is there before it. */
  async impatient(options: LockClientOptions, connection = this.connection()): Promise<LockClient> {
    await this.client({}, connection)
    return this.client(options, connection)
  }

  /** On its clock a wait of 1 ms takes 100, and a refusal has 25 s to come, however long Redis stands still. */
  slow(options: LockClientOptions = {}): Promise<LockClient> {
    return this.client({ runtime: new SlowClock(true), ...options })
  }

  /** Without waiting for Redis. */
  clientNow(options: LockClientOptions = {}, connection = this.connection()): LockClient {
    return this.connectNow(carrierOf(connection), options)
  }

  /** A client of a URL, of settings or of a connection of any library. */
  async connect(
    target: Parameters<typeof LockClient.connect>[0],
    options: LockClientOptions = {},
  ): Promise<LockClient> {
    return this.closedAtEnd(await LockClient.connect(target, this.optionsWith(options)))
  }

  connectNow(
    connection: ConstructorParameters<typeof LockClient>[0],
    options: LockClientOptions = {},
  ): LockClient {
    return this.closedAtEnd(new LockClient(connection, this.optionsWith(options)))
  }

  /** For the calls in `scripts/`. */
  runner(connection = this.connection()): ScriptRunner {
    const timing = { background: backgroundRuntime, commandTimeout: 3_000 }
    const port = portOf(carrierOf(connection), { shardedPubSub: 'auto', ...timing })
    const runner = new ScriptRunner(port, backgroundRuntime, {
      commandTimeoutMs: 3_000,
      batchSize: USUAL_ITEMS,
      beforeResume: () => backgroundRuntime.now(),
      demoted: () => undefined,
    })
    this.closers.push(() => {
      runner.close()
      return port.close()
    })
    return runner
  }

  /** For what a test opened itself; the latest is closed first. */
  atEnd(close: () => unknown): void {
    this.closers.push(close)
  }

  async proxy(): Promise<FaultProxy> {
    const proxy = await FaultProxy.start(this.server)
    this.closers.push(() => proxy.stop())
    return proxy
  }

  /** A client, and the proxy that its connection goes through. */
  async proxied(
    options: LockClientOptions = {},
    ofConnection: object = {},
  ): Promise<{ proxy: FaultProxy; locks: LockClient }> {
    const proxy = await this.proxy()
    return { proxy, locks: await this.client(options, this.connection(ofConnection, proxy)) }
  }

  /** Every key with its type and value. */
  async contents(): Promise<Record<string, KeyContents>> {
    const keys = (await this.admin.keys('*')).sort()
    const entries = await Promise.all(keys.map(async (key) => [key, await this.read(key)] as const))
    // One may have ended since then.
    const hasEnded = (value: unknown): boolean =>
      value === null || (Array.isArray(value) && value.length === 0)
    return Object.fromEntries(entries.filter(([, { value }]) => !hasEnded(value)))
  }

  /** How many connections have a name: this test's. */
  async connections(name = this.connectionName): Promise<number> {
    return String(await this.admin.client('LIST')).split(` name=${name} `).length - 1
  }

  /** How many listen to a channel. */
  async listeners(channel: string): Promise<number> {
    return Number((await this.admin.pubsub('NUMSUB', channel))[1])
  }

  /** Resolves when so many clients listen to what is said about a lock. */
  heard(name: string, count = 1): Promise<void> {
    return eventually(async () => (await this.listeners(channelOf(name))) === count)
  }

  /** Does something while Redis has no memory for what may be refused. */
  async outOfMemory(work: () => Promise<unknown>): Promise<void> {
    await this.admin.config('SET', 'maxmemory-policy', 'noeviction')
    await this.admin.config('SET', 'maxmemory', '1')
    try {
      await work()
    } finally {
      await this.admin.config('SET', 'maxmemory', '0')
    }
  }

  /** A key ends in so many ms, or a little earlier: Redis was asked for it a little before. */
  async expectTtl(key: string, ms: number): Promise<void> {
    const ttl = await this.admin.pttl(key)
    expect(ttl).toBeGreaterThan(ms - 3_000)
    expect(ttl).toBeLessThanOrEqual(ms)
  }

  /** How often Redis ran each command meanwhile, whoever sent it; without the questions about that. */
  async commandsDuring(work: () => Promise<unknown>): Promise<Map<string, number>> {
    await this.server.resetStats()
    await work()
    const stats = await this.server.commandStats()
    for (const own of ['info', 'config', 'config|resetstat', 'pubsub', 'pubsub|channels']) stats.delete(own)
    return stats
  }

  /** By the clock of Redis, ms. */
  async now(): Promise<number> {
    const [seconds, micros] = await this.admin.time()
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000)
  }

  /** Keys of this test, but for those that stay by design. */
  async keysLeft(): Promise<string[]> {
    return (await this.keys()).filter((key) => !staysByDesign(key))
  }

  /** Ends the test: closes the latest opened first, and fails when anything stays behind (I5). */
  async finish(): Promise<void> {
    await this.bringUp()
    const failures: unknown[] = []
    for (const close of this.closers.splice(0).reverse()) {
      await soon(Promise.resolve(close())).catch((error: unknown) => failures.push(error))
    }
    expect(failures).toEqual([])
    expect(await this.keysLeft()).toEqual([])
    if (this.redis === 'all') {
      await Promise.all((await this.keys()).map((key) => this.admin.del(key)))
    }
    // Redis notices a closed connection a moment later.
    await eventually(async () =>
      this.redis === 'all'
        ? (await this.admin.pubsub('CHANNELS', `*${this.prefix}*`)).length === 0
        : (await this.connections()) === 0,
    )
  }

  async stop(): Promise<void> {
    this.admin.disconnect()
    await this.started?.stop()
  }

  private closedAtEnd(client: LockClient): LockClient {
    this.closers.push(() => client.close({ graceMs: 0 }))
    return client
  }

  private optionsWith(options: LockClientOptions): LockClientOptions {
    return {
      bareCalls: 'allow',
      onContextEnd: 'keep',
      ...(this.redis === 'all' ? topologyOptions : {}),
      // It may stop: nobody waits for an answer for long.
      ...(this.redis === 'test' ? { commandTimeout: 500 } : {}),
      ...options,
    }
  }

  private keys(): Promise<string[]> {
    return this.admin.keys(this.redis === 'all' ? `*${this.prefix}*` : '*')
  }

  /** Whatever a test did to the server. */
  private async bringUp(): Promise<void> {
    if (!this.started) return
    this.started.resume()
    await this.started.command('PING').catch(() => this.server.restart())
  }

  private async read(key: string): Promise<KeyContents> {
    const type = await this.admin.type(key)
    switch (type) {
      case 'hash':
        return { type, value: await this.admin.hgetall(key) }
      case 'string':
        return { type, value: await this.admin.get(key) }
      case 'list':
        return { type, value: await this.admin.lrange(key, 0, -1) }
      case 'zset':
        return { type, value: scoresOf(await this.admin.zrange(key, '0', '-1', 'WITHSCORES')) }
      case 'none':
        return { type, value: null }
      default:
        return { type, value: ((await this.admin.dumpBuffer(key)) as Buffer | null)?.toString('hex') ?? null }
    }
  }
}

/** Members with their scores, the lowest first. */
function scoresOf(pairs: readonly string[]): [string, number][] {
  const members = pairs.filter((_, i) => i % 2 === 0)
  return members.map((member, i) => [member, Number(pairs[2 * i + 1])])
}

/** Stands for a thing that is another one in each test. */
export const standIn = <Own extends object>(current: () => Own): Own =>
  new Proxy({} as Own, {
    get: (_, name) => {
      const thing = current()
      const value: unknown = Reflect.get(thing, name)
      return typeof value === 'function' ? (value.bind(thing) as unknown) : value
    },
  })

/** A value that is made before each test, with those that are made above it. */
export function own<Own extends object>(make: () => Own | Promise<Own>): Own {
  let made: Own
  beforeEach(async () => {
    made = await make()
  })
  return standIn(() => made)
}

/** The channel on which the end of a lock is told, by hand: `keys.ts` is what is tested. */
export const channelOf = (rawName: string): string =>
  `redisson_lock__channel:${rawName.includes('{') ? rawName : `{${rawName}}`}`

/** To be called at the top of a test file, or of a describe block. */
export function useRig(options: RigOptions = {}): Rig {
  const rig = new Rig(options)
  const [before, after] = options.redis === 'test' ? [beforeEach, afterEach] : [beforeAll, afterAll]
  before(() => rig.start())
  beforeEach(() => rig.begin())
  afterEach(() => rig.finish())
  after(() => rig.stop())
  return rig
}

const TICK_MS = 50

/**
 * Calls `end` after so many ms in which this process ran: as long as a busy machine stands still counts as one tick, and so
 * does as long as `answer` takes, which asks Redis.
 */
function afterRunning(ms: number, end: () => void = () => undefined, answer?: () => Promise<unknown>) {
  let ticksLeft = Math.ceil(ms / TICK_MS)
  let isAsking = false
  const answered = (): void => void (isAsking = false)
  const timer = setInterval(() => {
    if (isAsking) return
    if (answer) {
      isAsking = true
      answer().then(answered, answered)
    }
    ticksLeft -= 1
    if (ticksLeft > 0) return
    clearInterval(timer)
    end()
  }, TICK_MS)
  return { cancel: () => clearInterval(timer), isOver: () => ticksLeft <= 0 }
}

/** The same promise, but a clear failure instead of a test that hangs. */
export async function soon<T>(
  promise: Promise<T>,
  withinMs = 5_000,
  answer?: () => Promise<unknown>,
): Promise<T> {
  let limit: ReturnType<typeof afterRunning> | undefined
  const late = new Promise<never>((_, reject) => {
    limit = afterRunning(withinMs, () => reject(new Error(`Not settled within ${withinMs} ms`)), answer)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    limit?.cancel()
  }
}

/** Resolves as soon as the condition holds; polls, for what Redis has no event for. */
export async function eventually(
  condition: () => Promise<boolean> | boolean,
  withinMs = 5_000,
  answer?: () => Promise<unknown>,
): Promise<void> {
  const limit = afterRunning(withinMs, undefined, answer)
  try {
    for (;;) {
      const isLast = limit.isOver()
      if (await condition()) return
      if (isLast) throw new Error(`Not within ${withinMs} ms: ${condition.toString()}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  } finally {
    limit.cancel()
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** A promise and its ends, for tests that wait for a signal instead of sleeping. */
export function signalled<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void
  const promise = new Promise<T>((done) => (resolve = done))
  return { promise, resolve }
}
