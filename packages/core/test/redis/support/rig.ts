import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals'
import { FaultProxy, RedisServer, type RedisServerOptions } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { LockClient, type LockClientOptions } from '../../../src/index.js'
import { portOf } from '../../../src/redis/open-port.js'
import { ScriptRunner } from '../../../src/redis/script-runner.js'
import { USUAL_ITEMS } from '../../../src/redis/batch.js'
import { allLuaSources } from './all-lua-sources.js'
import { backgroundRuntime } from '../../../src/runtime/runtime.js'
import { carrierOf, connectionTo } from './carrier.js'
import { eventually } from './harness.js'
import { staysByDesign } from './lasting-keys.js'

/** The value of a key. */
export interface KeyContents {
  readonly type: string
  readonly value: unknown
}

/**
 * A Redis of this file's own, what one test opened on it, and the check that the test left nothing there.
 * Unhandled rejections need no listener here: Jest fails the test they come from (and its sandbox has a copy of
 * `process`, whose listeners hear nothing).
 */
export class Rig {
  server!: RedisServer
  admin!: Redis
  private readonly closers: (() => unknown)[] = []
  private tests = 0

  async start(options: RedisServerOptions): Promise<void> {
    this.server = await RedisServer.start(options)
    // While Redis loads its data, ioredis looks again after the time that Redis estimates, up to 10 s.
    this.admin = new Redis(this.server.url, { retryStrategy: () => 20, maxLoadingRetryTime: 100 })
    this.admin.on('error', () => undefined)
  }

  /** An empty database with every script loaded, so that a command runs the first time it is sent. */
  async begin(): Promise<void> {
    this.tests += 1
    await this.admin.flushall()
    await Promise.all(Object.values(allLuaSources).map((lua) => this.admin.script('LOAD', lua)))
  }

  /** The name of every connection of one test, by which the leftovers of it are told from those of others. */
  get connectionName(): string {
    return `test-${this.tests}`
  }

  /** Reconnects quickly unless told otherwise. */
  connection(options: object = {}, at: { readonly port: number } = this.server): Redis {
    const { connectionName } = this
    const connection = connectionTo(`redis://127.0.0.1:${at.port}`, {
      connectionName,
      retryStrategy: () => 20,
      // How long ioredis keeps a timer after `disconnect` of what is closed already.
      disconnectTimeout: 50,
      ...options,
    })
    this.closers.push(() => connection.disconnect())
    return connection
  }

  /** A client that is closed after the test. */
  async client(options: LockClientOptions = {}, connection = this.connection()): Promise<LockClient> {
    const client = await LockClient.connect(carrierOf(connection), {
      bareCalls: 'allow',
      onContextEnd: 'keep',
      ...options,
    })
    this.closers.push(() => client.close({ graceMs: 0 }))
    return client
  }

  /** Without waiting for Redis. */
  clientNow(options: LockClientOptions = {}, connection = this.connection()): LockClient {
    const client = new LockClient(carrierOf(connection), {
      bareCalls: 'allow',
      onContextEnd: 'keep',
      ...options,
    })
    this.closers.push(() => client.close({ graceMs: 0 }))
    return client
  }

  /** For the calls in `scripts/`. */
  runner(connection = this.connection()): ScriptRunner {
    const timing = { background: backgroundRuntime, commandTimeout: 3_000 }
    const port = portOf(carrierOf(connection), { shardedPubSub: 'auto', ...timing })
    const runner = new ScriptRunner(port, backgroundRuntime, {
      commandTimeoutMs: 3_000,
      batchSize: USUAL_ITEMS,
      beforeResume: () => undefined,
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

  /** Every key with its type and value. */
  async contents(): Promise<Record<string, KeyContents>> {
    const keys = (await this.admin.keys('*')).sort()
    const entries = await Promise.all(keys.map(async (key) => [key, await this.read(key)] as const))
    // One may have ended since then.
    const hasEnded = (value: unknown): boolean =>
      value === null || (Array.isArray(value) && value.length === 0)
    return Object.fromEntries(entries.filter(([, { value }]) => !hasEnded(value)))
  }

  /** But for those that stay by design. */
  async keysLeft(): Promise<string[]> {
    return (await this.admin.keys('*')).filter((key) => !staysByDesign(key))
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
    // Redis notices a closed connection a moment later.
    await eventually(async () => {
      const connections = String(await this.admin.client('LIST'))
      return !connections.includes(` name=${this.connectionName} `)
    })
  }

  async stop(): Promise<void> {
    this.admin.disconnect()
    await this.server.stop()
  }

  /** Whatever a failed test did to the server. */
  private async bringUp(): Promise<void> {
    this.server.resume()
    await this.server.command('PING').catch(() => this.server.restart())
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

/** To be called at the top of a test file. */
export function useRig(options: RedisServerOptions = {}): Rig {
  const rig = new Rig()
  beforeAll(() => rig.start(options))
  afterAll(() => rig.stop())
  beforeEach(() => rig.begin())
  afterEach(() => rig.finish())
  return rig
}

/** The same promise, but a clear failure instead of a test that hangs. */
export async function soon<T>(promise: Promise<T>, withinMs = 5_000): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Not settled within ${withinMs} ms`)), withinMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
