import { hasMethods } from '../../runtime/plain-object.js'
import type { IoredisClient, IoredisScripting } from './client.js'

/** One node of a Cluster, as far as it is used here. */
export interface IoredisNode extends IoredisClient {
  readonly options: IoredisClient['options'] & { readonly host?: string; readonly port?: number }
  pubsub(subcommand: string): Promise<unknown>
  info(section: string): Promise<unknown>
}

/** The part of an ioredis Cluster, 5 or 6, used here. Structural, like IoredisClient. */
export interface IoredisCluster extends IoredisScripting {
  readonly isCluster: true
  readonly status: string
  readonly options: {
    readonly keyPrefix?: string | undefined
    readonly redisOptions?: { readonly db?: number | undefined } | undefined
  }
  /** The nodes of each slot, as `host:port`, the primary first. */
  readonly slots: readonly (readonly string[] | undefined)[]
  nodes(role?: 'all' | 'master'): IoredisNode[]
  refreshSlotsCache(): void
  connect(): Promise<unknown>
  on(event: string, listener: (node: IoredisNode) => void): unknown
  off(event: string, listener: (node: IoredisNode) => void): unknown
  sendCommand(command: never): unknown
}

export function isIoredisCluster(value: unknown): value is IoredisCluster {
  return hasMethods(value, 'evalsha', 'sendCommand', 'nodes', 'refreshSlotsCache') && value.isCluster === true
}

/** The slot's primary, as the slots table names it; undefined: none is known. */
export function ownerOf(cluster: IoredisCluster, slot: number): string | undefined {
  return cluster.slots[slot]?.[0]
}

/** By the name in the slots table. */
export function primaryAt(cluster: IoredisCluster, address: string | undefined): IoredisNode | undefined {
  return cluster.nodes('master').find((node) => nodeKey(node) === address)
}

/** The name in the slots table. */
export function nodeKey({ options }: IoredisNode): string {
  return `${options.host ?? '127.0.0.1'}:${options.port ?? 6379}`
}
