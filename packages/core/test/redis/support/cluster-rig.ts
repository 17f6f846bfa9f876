import { afterAll, afterEach, beforeAll, expect } from '@jest/globals'
import { RedisCluster, type ClusterOptions, type RedisServer } from '@holdfast/faults/harness'
import calculateSlot from 'cluster-key-slot'
import { Cluster } from 'ioredis'
import { LockClient, type LockClientOptions } from '../../../src/index.js'
import { carrierOfSeveral } from './carrier.js'
import { eventually } from './rig.js'
import { staysByDesign } from './lasting-keys.js'
import { Opened } from './opened.js'

/** Longer than any test: what ends sooner was woken. */
export const NO_TICK = { resyncInterval: 60_000, bareCalls: 'allow' } as const

/** The name of every connection of a test, by which its leftovers are told. */
const CONNECTION_NAME = 'of-the-test'

/** A cluster of this file's own, what one test opened on it, and the check that the test left nothing there. */
export class ClusterRig {
  cluster!: RedisCluster
  private readonly opened = new Opened()

  async start(options: ClusterOptions): Promise<void> {
    this.cluster = await RedisCluster.start({ nodeTimeoutMs: 1_000, ...options })
  }

  connection(options: { redisOptions?: object; [option: string]: unknown } = {}): Cluster {
    const cluster = new Cluster(this.cluster.endpoints, {
      clusterRetryStrategy: () => 20,
      ...options,
      redisOptions: { connectionName: CONNECTION_NAME, disconnectTimeout: 50, ...options.redisOptions },
    })
    return this.opened.connection(cluster)
  }

  client(options: LockClientOptions = {}, connection = this.connection()): Promise<LockClient> {
    return this.opened.client(carrierOfSeveral(connection), { ...NO_TICK, ...options })
  }

  clientNow(options: LockClientOptions = {}, connection = this.connection()): LockClient {
    const client = new LockClient(carrierOfSeveral(connection), { ...NO_TICK, ...options })
    this.opened.atEnd(() => client.close({ graceMs: 0 }))
    return client
  }

  slotOf(name: string): number {
    return calculateSlot(name)
  }

  primaryOf(name: string): Promise<RedisServer> {
    return this.cluster.primaryOf(this.slotOf(name))
  }

  /** A primary that does not have the slot of the name. */
  async anotherPrimary(name: string): Promise<RedisServer> {
    const from = await this.primaryOf(name)
    const owners = await Promise.all([0, 6_000, 12_000].map((slot) => this.cluster.primaryOf(slot)))
    return owners.find((each) => each !== from)!
  }

  /** Nodes that somebody listens at, by channel of sharded messages or of others. */
  async listening(channel: string, kind: 'SHARDNUMSUB' | 'NUMSUB'): Promise<RedisServer[]> {
    const counts = await Promise.all(
      this.running.map(async (node) =>
        Number(((await node.command('PUBSUB', kind, channel)) as unknown[])[1]),
      ),
    )
    return this.running.filter((_, i) => (counts[i] ?? 0) > 0)
  }

  /** How often nodes were sent a script, also one that they refused, since the last time this was asked. */
  async scriptsSent(): Promise<number> {
    const sent = this.running.map(async (node) => {
      const text = String(await node.command('INFO', 'commandstats'))
      await node.command('CONFIG', 'RESETSTAT')
      const counts = text.matchAll(/cmdstat_(?:evalsha|eval):calls=(\d+).*rejected_calls=(\d+)/g)
      return [...counts].reduce((sum, [, run, refused]) => sum + Number(run) + Number(refused), 0)
    })
    return (await Promise.all(sent)).reduce((sum, each) => sum + each, 0)
  }

  get running(): RedisServer[] {
    return this.cluster.nodes.filter((node) => node.running)
  }

  /** Ends the test: closes the latest opened first, and fails when anything stays behind (I5). */
  async finish(): Promise<void> {
    await this.opened.close()
    for (const node of this.running) {
      const keys = (await node.command('KEYS', '*')) as string[]
      expect(keys.filter((key) => !staysByDesign(key))).toEqual([])
      await eventually(
        async () => !String(await node.command('CLIENT', 'LIST')).includes(` name=${CONNECTION_NAME} `),
      )
    }
    await Promise.all(this.running.map((node) => node.command('FLUSHALL').catch(() => undefined)))
  }
}

/** To be called at the top of a describe block. */
export function useClusterRig(options: ClusterOptions = {}): ClusterRig {
  const rig = new ClusterRig()
  beforeAll(() => rig.start(options))
  afterAll(() => rig.cluster.stop())
  afterEach(() => rig.finish())
  return rig
}
