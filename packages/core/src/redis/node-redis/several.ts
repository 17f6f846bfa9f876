import { hasMethods } from '../../runtime/plain-object.js'
import type { NodeRedisScripting } from './client.js'

/** The address of a node, as `nodeAddressMap` may have changed it. */
export interface NodeAddress {
  readonly host: string
  readonly port: number
}

/** The members that node-redis's clients of several connections have in common. */
interface OfSeveral extends NodeRedisScripting {
  /** From the call of `connect` until the client is closed or has given up. */
  readonly isOpen: boolean
  connect(): Promise<unknown>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as an EventEmitter has it; nothing stricter fits
  on(event: string | symbol, listener: (...args: any[]) => void): unknown
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- see `on`
  off(event: string | symbol, listener: (...args: any[]) => void): unknown
}

/** The part of a client from node-redis's `createClientPool` used here. Structural, like NodeRedisClient. */
export interface NodeRedisPool extends OfSeveral {
  readonly totalClients: number
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- its own client, which is generic
  execute(use: (client: any) => any): Promise<any>
}

/** The part of a client from node-redis's `createSentinel` used here. Structural, like NodeRedisClient. */
export interface NodeRedisSentinel extends OfSeveral {
  readonly isReady: boolean
  getMasterNode(): NodeAddress | undefined
  /** Runs a function on a client of the primary's pool. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- see NodeRedisPool
  _execute(isReadonly: boolean | undefined, use: (client: any) => Promise<any>): Promise<any>
}

/** One node of a cluster. */
export interface NodeRedisClusterNode extends NodeAddress {
  /** `host:port`, as the cluster names it. */
  readonly address: string
}

/** The part of a client from node-redis's `createCluster` used here. Structural, like NodeRedisClient. */
export interface NodeRedisCluster extends OfSeveral {
  readonly masters: readonly NodeRedisClusterNode[]
  readonly replicas: readonly NodeRedisClusterNode[]
  /** A promise; of early node-redis 5 also the client itself. */
  nodeClient(node: never): unknown
  readonly _options: object
}

/** A client of node-redis that has several connections: a pool, a Sentinel or a cluster. */
export type NodeRedisOfSeveral = NodeRedisPool | NodeRedisSentinel | NodeRedisCluster

function has(value: unknown, ...methods: readonly string[]): value is Record<string, unknown> {
  return hasMethods(value, ...methods, 'evalSha', 'on', 'off', 'connect')
}

export function isNodeRedisPool(value: unknown): value is NodeRedisPool {
  return has(value, 'execute') && typeof value.totalClients === 'number'
}

export function isNodeRedisSentinel(value: unknown): value is NodeRedisSentinel {
  return has(value, '_execute', 'getMasterNode', 'getSentinelNode')
}

export function isNodeRedisCluster(value: unknown): value is NodeRedisCluster {
  return has(value, 'nodeClient', 'getRandomNode') && typeof value._options === 'object'
}

/** Whether it is one of them. */
export function isNodeRedisOfSeveral(value: unknown): value is NodeRedisOfSeveral {
  return isNodeRedisPool(value) || isNodeRedisSentinel(value) || isNodeRedisCluster(value)
}

/** Its `keyPrefix`, since node-redis 6. It is not among the options of its connections. */
export function keyPrefixOf(client: NodeRedisOfSeveral): string {
  const { _keyPrefix: prefix } = client as { readonly _keyPrefix?: string | Buffer | undefined }
  return prefix?.toString() ?? ''
}
