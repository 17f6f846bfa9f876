import { Redis } from 'ioredis'
import type { IoredisClient, NodeRedisClient } from '../../../src/index.js'
import { OwnNodeRedis } from '../../../src/redis/node-redis/client.js'

/** Of the Jest project: the package, as this repository has it installed, that carries what Holdfast sends. */
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

/** What a LockClient gets instead of a connection: that itself, or node-redis's equivalent, which ends with it. */
export function carrierOf(connection: Redis): IoredisClient | NodeRedisClient {
  if (onEngine) {
    return (connection as unknown as { readonly source: IoredisClient }).source
  }
  return onNodeRedis ? (ofNodeRedis.get(connection) ?? equivalentOf(connection)) : connection
}

/** Whether what carries a LockClient is connected, and whether it never will be again. */
export function stateOf(connection: Redis): string {
  const client = carrierOf(connection)
  if ('status' in client) {
    return client.status
  }
  return client.isReady ? 'ready' : client.isOpen ? 'connecting' : 'end'
}

/** The digests of the scripts that a carrier is asked to run from now on, in that order. */
export function scriptsRunBy(connection: Redis): () => string[] {
  const client = carrierOf(connection)
  const digests: string[] = []
  if ('status' in client) {
    const evalsha = Reflect.get(client, 'evalsha')
    // The port calls it with a `this` of its own.
    client.evalsha = function (this: IoredisClient, ...args) {
      digests.push(args[0])
      return evalsha.apply(this, args)
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

function equivalentOf(connection: Redis): NodeRedisClient {
  if (!nodeRedis) {
    throw new Error(`${carrier} carries this project`)
  }
  const { options } = connection
  const client: NodeRedisClient = nodeRedis.createClient({
    socket: {
      host: options.host ?? '127.0.0.1',
      port: options.port ?? 6379,
      reconnectStrategy: (retries) => options.retryStrategy?.(retries + 1) ?? false,
      ...(options.socketTimeout ? { socketTimeout: options.socketTimeout } : {}),
    },
    ...(options.username ? { username: options.username, password: options.password ?? '' } : {}),
    ...(options.connectionName ? { name: options.connectionName } : {}),
    ...(options.keyPrefix ? { keyPrefix: options.keyPrefix } : {}),
    disableOfflineQueue: options.enableOfflineQueue === false,
  })
  const own = new OwnNodeRedis(client)
  connection.on('end', () => own.end())
  ofNodeRedis.set(connection, client)
  return client
}

function ignore(): void {
  // What a test is about shows elsewhere.
}
