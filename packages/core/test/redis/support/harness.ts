import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals'
import type { Redis } from 'ioredis'
import { randomUUID } from 'node:crypto'
import { LockClient, type LockClientOptions } from '../../../src/index.js'
import { carrierOf } from './carrier.js'
import { staysByDesign } from './lasting-keys.js'
import { openRedis, topologyCredentials, topologyOptions } from './topology.js'

export const redisUrl = process.env.HOLDFAST_TEST_REDIS_URL ?? 'redis://127.0.0.1:6379'

/** Names of one test, clients that are closed after it, and the check that it left nothing in Redis. */
export class Harness {
  readonly admin: Redis
  private prefix = ''
  private clients: LockClient[] = []
  private connections: Redis[] = []

  constructor(readonly url = redisUrl) {
    this.admin = openRedis(url, { lazyConnect: true })
  }

  begin(): void {
    this.prefix = `t${randomUUID().slice(0, 8)}`
  }

  /** A lock name of this test alone. */
  name(suffix = 'lock'): string {
    return `${this.prefix}:${suffix}`
  }

  async client(options: LockClientOptions = {}): Promise<LockClient> {
    const client = await LockClient.connect(carrierOf(this.connection()), {
      bareCalls: 'allow',
      onContextEnd: 'keep',
      ...topologyOptions,
      ...options,
    })
    this.clients.push(client)
    return client
  }

  connection(options: object = {}): Redis {
    const connection = openRedis(this.url, { ...topologyCredentials, ...options })
    this.connections.push(connection)
    return connection
  }

  /** Keys of this test, but for those that stay by design. */
  async keysLeft(): Promise<string[]> {
    return (await this.keys()).filter((key) => !staysByDesign(key))
  }

  /** Ends the test: closes its clients and fails when a key or subscription of its stays behind (I5). */
  async finish(): Promise<void> {
    await Promise.all(this.clients.splice(0).map((client) => client.close({ graceMs: 0 })))
    this.connections.splice(0).forEach((connection) => connection.disconnect())
    expect(await this.keysLeft()).toEqual([])
    await Promise.all((await this.keys()).map((key) => this.admin.del(key)))
    expect(await this.admin.pubsub('CHANNELS', `*${this.prefix}*`)).toEqual([])
  }

  private keys(): Promise<string[]> {
    return this.admin.keys(`*${this.prefix}*`)
  }
}

/** To be called at the top of a describe block. */
export function useHarness(): Harness {
  const harness = new Harness()
  beforeAll(() => harness.admin.connect())
  afterAll(() => harness.admin.disconnect())
  beforeEach(() => harness.begin())
  afterEach(() => harness.finish())
  return harness
}

/** Resolves as soon as the condition holds; polls, for what Redis has no event for. */
export async function eventually(
  condition: () => Promise<boolean> | boolean,
  withinMs = 5_000,
): Promise<void> {
  const endsAt = Date.now() + withinMs
  while (!(await condition())) {
    if (Date.now() > endsAt) {
      throw new Error(`Not within ${withinMs} ms: ${condition.toString()}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
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
