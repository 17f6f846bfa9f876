import { afterEach, beforeEach, expect } from '@jest/globals'
import { RedisServer } from '@holdfast/faults/harness'
import type { Redis } from 'ioredis'
import { LockClient, type LockClientOptions } from '../../../src/index.js'
import { carrierOf, connectionTo } from './carrier.js'
import { staysByDesign } from './lasting-keys.js'

/** A Redis for one test alone, which may stop, pause or empty it. */
export class PrivateServer {
  private started: RedisServer | undefined
  private clients: LockClient[] = []
  private connections: Redis[] = []

  get server(): RedisServer {
    if (!this.started) {
      throw new Error('The server runs during a test only.')
    }
    return this.started
  }

  async begin(): Promise<void> {
    this.started = await RedisServer.start()
  }

  connection(options: object = {}, url = this.server.url): Redis {
    const connection = connectionTo(url, options)
    this.connections.push(connection)
    return connection
  }

  async client(options: LockClientOptions = {}, redis = this.connection()): Promise<LockClient> {
    const client = await LockClient.connect(carrierOf(redis), {
      bareCalls: 'allow',
      onContextEnd: 'keep',
      commandTimeout: 500,
      ...options,
    })
    this.clients.push(client)
    return client
  }

  /** Ends the test: a server that still answers must be empty and have no subscriber left (I5). */
  async finish(): Promise<void> {
    const { server } = this
    server.resume()
    await Promise.all(this.clients.splice(0).map((client) => client.close({ graceMs: 0 })))
    this.connections.splice(0).forEach((connection) => connection.disconnect())
    try {
      const runs = await server.command('PING').catch(() => null)
      if (runs !== null) {
        const keys = (await server.command('KEYS', '*')) as string[]
        expect(keys.filter((key) => !staysByDesign(key))).toEqual([])
        expect(await server.command('PUBSUB', 'CHANNELS')).toEqual([])
      }
    } finally {
      await server.stop()
    }
  }
}

/** To be called at the top of a describe block. */
export function usePrivateServer(): PrivateServer {
  const server = new PrivateServer()
  beforeEach(() => server.begin())
  afterEach(() => server.finish())
  return server
}
