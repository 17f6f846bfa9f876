import { Redis, type Cluster } from 'ioredis'
import type { IoredisClient } from '../../../src/redis/ioredis/client.js'
import type { NodeRedisClient } from '../../../src/redis/node-redis/client.js'
import type { NodeRedisCluster, NodeRedisSentinel } from '../../../src/redis/node-redis/several.js'
import { OwnNodeRedis } from '../../../src/redis/node-redis/client.js'
import { topology } from './given-topology.js'

/** The package of the Jest project, as this repository has it installed, that carries what Holdfast sends. */
declare const carrier: string

/** Its module map decides what a test sees under the package's own name; other processes have to be told. */
export const carrierPackage = carrier
export const onNodeRedis = carrier.startsWith('redis')
/** No client at all: a TestRedis is the carrier, and what tests look into it with stands for ioredis. */
export const onEngine = carrier === 'engine'

// Each test file loads what it needs anew, and this takes longer than all the rest.
const nodeRedis = onNodeRedis ? await import('redis') : null

const ofNodeRedis = new WeakMap<Redis, NodeRedisClient>()

/**
 * A connection of ioredis, with which tests look into Redis, and which carries a LockClient where the project is one
 * of ioredis. In one of node-redis it only opens for the first of them.
 */
export function connectionTo(url: string, options: object = {}): Redis {
  const connection = new Redis(url, onNodeRedis ? { ...options, lazyConnect: true } : options)
  connection.on('error', ignore)
  return connection
}

const severalOfNodeRedis = new WeakMap<object, NodeRedisCluster | NodeRedisSentinel>()

/** Stands for a Cluster or a Redis behind Sentinel: like `carrierOf`. */
export function carrierOfSeveral<C extends Cluster | Redis>(
  connection: C,
): C | NodeRedisCluster | NodeRedisSentinel {
  if (!onNodeRedis) {
    return connection
  }
  const there = severalOfNodeRedis.get(connection)
  if (there) {
    return there
  }
  const client = connection.isCluster
    ? clusterLike(connection as unknown as Cluster)
    : sentinelLike(connection as unknown as Redis)
  severalOfNodeRedis.set(connection, client)
  client.on('error', ignore)
  client.connect().catch(ignore)
  const ending = client as unknown as { destroy(): unknown }
  connection.on('end', () => void Promise.resolve(ending.destroy()).catch(ignore))
  return client
}

function clusterLike(cluster: Cluster): NodeRedisCluster {
  const { startupNodes } = cluster as unknown as { startupNodes: { host: string; port: number }[] }
  // ioredis has taken that of its redisOptions there.
  const { connectionName, username, password, db, keyPrefix } = {
    ...cluster.options.redisOptions,
    keyPrefix: cluster.options.keyPrefix,
  }
  return made().createCluster({
    rootNodes: startupNodes.map(({ host, port }) => ({ socket: { host, port } })),
    defaults: {
      ...nameOf(connectionName),
      ...userOf(username, password),
      ...databaseOf(db),
      socket: { reconnectStrategy: () => 20 },
    },
    ...mapOf(cluster.options.natMap),
    ...(keyPrefix ? { keyPrefix } : {}),
  })
}

type NodeAddressMap = Record<string, { host: string; port: number }>

function sentinelLike(connection: Redis): NodeRedisSentinel {
  const { options } = connection
  const nodes = (options.sentinels ?? []) as { host: string; port: number }[]
  const retry = options.retryStrategy
  return made().createSentinel({
    name: options.name ?? '',
    sentinelRootNodes: nodes.map(({ host, port }) => ({ host, port })),
    ...mapOf(options.natMap),
    ...(options.keyPrefix ? { keyPrefix: options.keyPrefix } : {}),
    // Without it, node-redis tells nobody why it cannot reach the primary.
    passthroughClientErrorEvents: true,
    nodeClientOptions: {
      ...nameOf(options.connectionName),
      ...userOf(options.username, options.password),
      ...databaseOf(options.db),
      socket: {
        // node-redis 5 waits for the end of an attempt that never ends: destroyed, it would dial for ever.
        reconnectStrategy: (retries) =>
          connection.status === 'end' ? false : (retry?.(retries + 1) ?? false),
      },
    },
  })
}

const nameOf = (name: string | undefined) => (name ? { name } : {})
const userOf = (username: string | null | undefined, password: string | null | undefined) =>
  username ? { username, password: password ?? '' } : {}

/** Options of the project's client, with which `LockClient.connect` opens a connection of Holdfast's own. */
export function targetAt(port: number, connectionName: string): object {
  return onNodeRedis
    ? { socket: { host: '127.0.0.1', port }, name: connectionName }
    : { host: '127.0.0.1', port, connectionName, disconnectTimeout: 50 }
}

const databaseOf = (db: number | undefined) => (db ? { database: db } : {})
const mapOf = (natMap: unknown) => (natMap ? { nodeAddressMap: natMap as NodeAddressMap } : {})

/** Stands for a connection: that itself, or node-redis's equivalent, which ends with it. */
export function carrierOf(connection: Redis): IoredisClient | NodeRedisClient {
  if (onEngine) {
    return (connection as unknown as { readonly source: IoredisClient }).source
  }
  if (connection.isCluster || connection.options.sentinels) {
    return carrierOfSeveral(connection) as unknown as IoredisClient
  }
  return onNodeRedis ? (ofNodeRedis.get(connection) ?? equivalentOf(connection)) : connection
}

/** Whether what carries a LockClient is connected, and whether it never will be again. */
export function stateOf(connection: Redis): string {
  const client = carrierOf(connection)
  if ('status' in client) {
    return client.status
  }
  // A cluster of node-redis 5, and a pool, do not say whether they are ready.
  const { isOpen, isReady = isOpen } = client as { readonly isOpen: boolean; readonly isReady?: boolean }
  return isReady ? 'ready' : isOpen ? 'connecting' : 'end'
}

/** The digests of the scripts that a carrier is asked to run from now on, in that order. */
export function scriptsRunBy(connection: Redis): () => string[] {
  const client = carrierOf(connection)
  const digests: string[] = []
  if ('status' in client) {
    const sendCommand = client.sendCommand.bind(client)
    client.sendCommand = (command: { readonly name: string; readonly args: readonly string[] }) => {
      if (command.name === 'evalsha') digests.push(command.args[0]!)
      return sendCommand(command as never)
    }
  } else {
    const sendCommand = client.sendCommand.bind(client)
    client.sendCommand = (args, options) => {
      if (args[0] === 'EVALSHA') digests.push(args[1]!)
      return sendCommand(args, options)
    }
  }
  return () => digests
}

function made(): NonNullable<typeof nodeRedis> {
  if (!nodeRedis) {
    throw new Error(`${carrier} carries this project`)
  }
  return nodeRedis
}

function equivalentOf(connection: Redis): NodeRedisClient {
  const { options } = connection
  const clientOptions = {
    socket: {
      host: options.host ?? '127.0.0.1',
      port: options.port ?? 6379,
      reconnectStrategy: (retries: number) => options.retryStrategy?.(retries + 1) ?? false,
      ...(options.socketTimeout ? { socketTimeout: options.socketTimeout } : {}),
    },
    ...(options.username ? { username: options.username, password: options.password ?? '' } : {}),
    ...(options.connectionName ? { name: options.connectionName } : {}),
    ...(options.keyPrefix ? { keyPrefix: options.keyPrefix } : {}),
    ...databaseOf(options.db),
    disableOfflineQueue: options.enableOfflineQueue === false,
  }
  if (topology?.kind === 'pool') {
    return poolOf(connection, clientOptions)
  }
  const client: NodeRedisClient = made().createClient(clientOptions)
  const own = new OwnNodeRedis(client)
  connection.on('end', () => own.end())
  ofNodeRedis.set(connection, client)
  return client
}

/** A pool in place of a client of one connection: tests that look into that are left out with it. */
function poolOf(connection: Redis, options: object): NodeRedisClient {
  const pool = made().createClientPool(options, { minimum: 1, maximum: 1 })
  pool.on('error', ignore)
  pool.connect().catch(ignore)
  connection.on('end', () => (pool.isOpen ? pool.destroy() : undefined))
  const client = pool as unknown as NodeRedisClient
  ofNodeRedis.set(connection, client)
  return client
}

function ignore(): void {
  // The subject of a test shows elsewhere.
}
