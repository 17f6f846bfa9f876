import { afterAll, afterEach, beforeAll, expect } from '@jest/globals'
import { FaultProxy, RedisCluster, RedisSentinels, RedisServer } from '@holdfast/faults/harness'
import { Cluster, Redis } from 'ioredis'
import type { LockClient, LockClientOptions } from '../../../src/index.js'
import { hashSlot } from '../../../src/redis/hash-slot.js'
import { carrierOf, carrierPackage, connectionTo, targetAt } from './carrier.js'
import { topology } from './given-topology.js'
import { channelOf, eventually } from './rig.js'
import { staysByDesign } from './lasting-keys.js'
import { Opened } from './opened.js'

export type Kind = 'single' | 'cluster' | 'sentinel'

/** Where the suite of connections runs: what is asked for, else all kinds with every client, else what `npm test` has time for. */
export const kinds: readonly Kind[] = topology
  ? [topology.kind === 'pool' ? 'single' : topology.kind]
  : process.env.HOLDFAST_TEST_EVERY_CLIENT
    ? ['single', 'cluster', 'sentinel']
    : carrierPackage === 'ioredis'
      ? ['single', 'cluster']
      : ['single']

type Target = Parameters<typeof LockClient.connect>[0]

/** Options of ioredis, whichever client they are for. */
export interface Settings {
  readonly db?: number
  readonly keyPrefix?: string
  readonly username?: string
  readonly password?: string
  readonly enableAutoPipelining?: boolean
}

/** Servers of one kind, with a proxy before each that holds keys, through which clients reach it. */
export class Place {
  servers: readonly RedisServer[] = []
  proxies: readonly FaultProxy[] = []
  /** A connection to each server, also when it takes no others. */
  admins: readonly Redis[] = []
  cluster: RedisCluster | null = null
  private group: RedisSentinels | null = null
  private readonly opened = new Opened()

  constructor(readonly kind: Kind) {}

  async start(): Promise<void> {
    if (this.kind === 'cluster') {
      this.cluster = await RedisCluster.start({ replicasPerPrimary: 0, nodeTimeoutMs: 15_000 })
    } else if (this.kind === 'sentinel') {
      this.group = await RedisSentinels.start({ replicas: 1, sentinels: 1 })
    }
    const { cluster, group } = this
    this.servers = cluster?.nodes ?? group?.nodes ?? [await RedisServer.start()]
    this.proxies = await Promise.all(this.servers.map((server) => FaultProxy.start(server)))
    this.admins = this.servers.map(({ url }) => new Redis(url).on('error', () => undefined))
  }

  /** The connection that the application opens; `straight`: not through the proxies. */
  connection(settings: Settings = {}, straight = false): Redis {
    const quick = { disconnectTimeout: 50, retryStrategy: () => 20 }
    const ways = straight ? this.servers : this.proxies
    const natMap = Object.fromEntries(
      this.servers.map(({ host, port }, i) => [`${host}:${port}`, { host, port: ways[i]!.port }]),
    )
    const { keyPrefix, enableAutoPipelining, ...ofNodes } = settings
    const opened =
      this.kind === 'single'
        ? connectionTo(ways[0]!.url, { ...quick, ...settings })
        : this.kind === 'sentinel'
          ? new Redis({
              ...quick,
              ...settings,
              sentinels: this.group!.endpoints,
              name: this.group!.name,
              natMap,
            })
          : new Cluster(Object.values(natMap), {
              ...{ natMap, keyPrefix, enableAutoPipelining, clusterRetryStrategy: () => 20 },
              redisOptions: { disconnectTimeout: 50, ...ofNodes },
            })
    return this.opened.connection(opened as Redis)
  }

  /** Nothing in it ends a wait by itself: what ends one was a message. */
  async client(settings: Settings = {}, options: LockClientOptions = {}): Promise<LockClient> {
    return this.connect(this.connection(settings), options)
  }

  /** One that no fault of the proxies reaches. */
  async other(): Promise<LockClient> {
    return this.connect(this.connection({}, true))
  }

  async connect(connection: Redis, options: LockClientOptions = {}): Promise<LockClient> {
    return this.to(carrierOf(connection), options)
  }

  /** With a connection that Holdfast opens itself, to one server. */
  async connected(options: LockClientOptions = {}): Promise<LockClient> {
    return this.to(targetAt(this.proxies[0]!.port, 'own'), options)
  }

  private to(target: Target, options: LockClientOptions): Promise<LockClient> {
    return this.opened.client(target, { resyncInterval: 60_000, ...options })
  }

  atEnd(close: () => unknown): void {
    this.opened.atEnd(close)
  }

  /** Asks every server. */
  async each(...command: [string, ...(string | number)[]]): Promise<unknown[]> {
    return Promise.all(this.admins.map((admin) => admin.call(...command)))
  }

  /** Keys of all servers, by the number of their database, such as `db3`. */
  async databases(): Promise<string[]> {
    const texts = await this.each('INFO', 'keyspace')
    const named = texts.flatMap((text) => String(text).match(/^db\d+/gm) ?? [])
    return [...new Set(named)]
  }

  /** How many connections there have been through the proxies. */
  get accepted(): number {
    return this.proxies.reduce((sum, each) => sum + each.accepted, 0)
  }

  /** How many listen to the channel, at any server. */
  async listeners(channel: string): Promise<number> {
    const kindsOfChannels = this.kind === 'cluster' ? ['NUMSUB', 'SHARDNUMSUB'] : ['NUMSUB']
    const counts = await Promise.all(kindsOfChannels.map((each) => this.each('PUBSUB', each, channel)))
    return counts.flat().reduce<number>((sum, each) => sum + Number((each as unknown[])[1]), 0)
  }

  /** Resolves when a waiter listens to what is said about the lock. */
  async heard(rawName: string): Promise<void> {
    await eventually(async () => (await this.listeners(channelOf(rawName))) > 0, 15_000)
  }

  /** The server that has the lock. */
  async adminOf(rawName: string): Promise<Redis> {
    const primary = await (this.cluster?.primaryOf(hashSlot(rawName)) ??
      this.group?.primary() ??
      this.servers[0]!)
    return this.admins[this.servers.indexOf(primary)]!
  }

  /**
   * Gives the lock's slot to another node in one step: one MOVED, and no ASK. So it is by CLUSTER MIGRATESLOTS of Valkey 9;
   * elsewhere nothing reaches the nodes meanwhile.
   */
  async moveAtOnce(rawName: string): Promise<void> {
    const { cluster, proxies } = this
    const slot = hashSlot(rawName)
    const from = await cluster!.primaryOf(slot)
    const to = cluster!.nodes.find((node) => node !== from)!
    const knows = await from.command('CLUSTER', 'HELP')
    if (String(knows).includes('MIGRATESLOTS')) {
      const id = String(await to.command('CLUSTER', 'MYID'))
      await from.command('CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', slot, slot, 'NODE', id)
      await cluster!.newPrimaryOf(slot, from)
    } else {
      proxies.forEach((proxy) => proxy.blackHole())
      await cluster!.migrateSlot(slot, to)
      proxies.forEach((proxy) => proxy.pass())
    }
  }

  /** Ends a test: heals, closes the latest opened first, and fails when a key stays behind (I5). */
  async finish(): Promise<void> {
    this.proxies.forEach((proxy) => proxy.pass())
    await this.opened.close()
    await this.each('CONFIG', 'SET', 'maxclients', 10_000)
    const keys = (await this.each('KEYS', '*')).flat() as string[]
    const roles = await Promise.all(this.admins.map((admin) => admin.role()))
    const primaries = this.admins.filter((_, i) => roles[i]![0] === 'master')
    await Promise.all(primaries.map((admin) => admin.flushall()))
    expect(keys.filter((key) => !staysByDesign(key))).toEqual([])
  }

  async stop(): Promise<void> {
    this.admins.forEach((admin) => admin.disconnect())
    await Promise.all(this.proxies.map((proxy) => proxy.stop()))
    await (this.cluster ?? this.group ?? this.servers[0])?.stop()
  }
}

/** To be called at the top of a describe block. */
export function usePlace(kind: Kind): Place {
  const place = new Place(kind)
  beforeAll(() => place.start())
  afterEach(() => place.finish())
  afterAll(() => place.stop())
  return place
}
