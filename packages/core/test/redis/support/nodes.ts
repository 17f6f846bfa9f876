import { afterEach, beforeEach, expect } from '@jest/globals'
import { FaultProxy, RedisServer } from '@holdfast/faults/harness'
import type { LockClient, LockClientOptions, RedLock, RedLockOptions } from '../../../src/index.js'
import { carrierOf, connectionTo } from './carrier.js'
import { staysByDesign } from './lasting-keys.js'
import { Opened } from './opened.js'
import { channelOf, eventually } from './rig.js'

/** One independent Redis, and the wire to it. */
export interface Node {
  readonly server: RedisServer
  /** Clients reach the server through it. */
  readonly proxy: FaultProxy
}

/** Independent servers for one test alone, which may stop, pause, cut off or empty them. */
export class Nodes {
  all: readonly Node[] = []
  private readonly opened = new Opened()

  constructor(private readonly count: number) {}

  async begin(): Promise<void> {
    const start = async (): Promise<Node> => {
      const server = await RedisServer.start()
      return { server, proxy: await FaultProxy.start(server) }
    }
    this.all = await Promise.all(Array.from({ length: this.count }, start))
  }

  at(index: number): Node {
    const node = this.all[index]
    if (!node) {
      throw new Error(`There is no node ${index}`)
    }
    return node
  }

  /** A client for each node: one participant. */
  async participant(options: LockClientOptions = {}): Promise<LockClient[]> {
    const connect = ({ proxy }: Node): Promise<LockClient> => {
      const redis = connectionTo(proxy.url, { retryStrategy: () => 20, disconnectTimeout: 50 })
      return this.opened.client(carrierOf(this.opened.connection(redis)), { commandTimeout: 500, ...options })
    }
    return Promise.all(this.all.map(connect))
  }

  /** Who holds the lock of this name, by node. */
  async holders(name: string, of = this.all): Promise<(string | undefined)[]> {
    const asked = of.map(async ({ server }) => {
      const [owner] = (await server.command('HKEYS', name)) as string[]
      return owner
    })
    return Promise.all(asked)
  }

  /**
   * How long the lock of this name lives at least on each node, ms, when this resolves. Asks again while the answers
   * took so long, on a loaded machine, that they say little.
   */
  async leases(name: string, of = this.all): Promise<number[]> {
    for (let tries = 1; ; tries += 1) {
      const askedAt = performance.now()
      const left = await Promise.all(of.map(({ server }) => server.command('PTTL', name) as Promise<number>))
      const tookMs = performance.now() - askedAt
      if (tookMs < 20 || tries === 50) {
        return left.map((ms) => ms - tookMs)
      }
    }
  }

  /** Resolves when a client listens at the first node to what is said about a lock. */
  heard(name: string): Promise<void> {
    return eventually(async () => {
      const reply = await this.at(0).server.command('PUBSUB', 'NUMSUB', channelOf(name))
      return (reply as [string, number])[1] === 1
    })
  }

  /** Keys on all nodes that answer, but for those that stay by design. */
  async keys(): Promise<string[]> {
    const asked = this.all.map(({ server }) => server.command('KEYS', '*') as Promise<string[]>)
    return (await Promise.all(asked)).flat().filter((key) => !staysByDesign(key))
  }

  /** Ends the test: heals everything, and fails when a key stays behind (I5). */
  async finish(): Promise<void> {
    try {
      await Promise.all(this.all.map((node) => heal(node)))
      await this.opened.close()
      expect(await this.keys()).toEqual([])
    } finally {
      await Promise.all(this.all.flatMap(({ proxy, server }) => [proxy.stop(), server.stop()]))
    }
  }
}

/** Ways in which a node does not answer. */
export const silences: Record<string, (node: Node) => unknown> = {
  'stopped (SIGSTOP)': ({ server }) => server.pause(),
  killed: ({ server }) => server.kill(),
  'cut off': ({ proxy }) => proxy.blackHole(),
  'refusing connections': ({ proxy }) => proxy.refuse(),
}

/** The RedLock of the lock of this name at each client. */
export const redLockOf = (
  clients: readonly LockClient[],
  name: string,
  options: RedLockOptions = {},
): RedLock =>
  clients[0]!.getRedLock(
    clients.map((client) => client.getLock(name)),
    options,
  )

/** Brings the node back; what it lost stays lost. */
export async function heal({ server, proxy }: Node): Promise<void> {
  server.resume()
  await server.command('PING').catch(() => server.restart())
  proxy.pass()
}

/** To be called at the top of a describe block. */
export function useNodes(count: number): Nodes {
  const nodes = new Nodes(count)
  beforeEach(() => nodes.begin())
  afterEach(() => nodes.finish())
  return nodes
}
