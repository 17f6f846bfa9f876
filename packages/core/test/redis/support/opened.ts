import { afterEach } from '@jest/globals'
import type { Cluster, Redis } from 'ioredis'
import { LockClient, type LockClientOptions } from '../../../src/index.js'

/** All that a test opened, closed with it: its clients, then the rest, the latest first. */
export class Opened {
  private readonly clients: LockClient[] = []
  private readonly closers: (() => unknown)[] = []

  atEnd(close: () => unknown): void {
    this.closers.push(close)
  }

  connection<C extends Redis | Cluster>(connection: C): C {
    connection.on('error', () => undefined)
    this.atEnd(() => connection.disconnect())
    return connection
  }

  async client(
    target: Parameters<typeof LockClient.connect>[0],
    options: LockClientOptions,
  ): Promise<LockClient> {
    const client = await LockClient.connect(target, { bareCalls: 'allow', onContextEnd: 'keep', ...options })
    this.clients.push(client)
    return client
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.splice(0).map((client) => client.close({ graceMs: 0 })))
    for (const close of this.closers.splice(0).reverse()) await close()
  }
}

/** To be called at the top of a describe block. */
export function useOpened(): Opened {
  const opened = new Opened()
  afterEach(() => opened.close())
  return opened
}
