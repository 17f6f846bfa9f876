import type { IoredisClient, IoredisScripting } from './client.js'

/** One node, as a Cluster keeps it. */
export interface IoredisNode extends IoredisClient {
  readonly options: IoredisClient['options'] & { readonly host?: string; readonly port?: number }
  pubsub(subcommand: string): Promise<unknown>
  info(section: string): Promise<unknown>
}

/** What is used of an ioredis Cluster, 5 or 6: structural, as IoredisClient. */
export interface IoredisCluster extends IoredisScripting {
  readonly isCluster: true
  readonly status: string
  readonly options: { readonly keyPrefix?: string | undefined }
  /** Of each slot the nodes that serve it, as `host:port`, the primary first. */
  readonly slots: readonly (readonly string[] | undefined)[]
  nodes(role?: 'all' | 'master'): IoredisNode[]
  refreshSlotsCache(): void
  connect(): Promise<unknown>
  on(event: string, listener: (node: IoredisNode) => void): unknown
  off(event: string, listener: (node: IoredisNode) => void): unknown
  sendCommand(command: never): unknown
}

export function isIoredisCluster(value: unknown): value is IoredisCluster {
  const client = value as Partial<IoredisCluster> | null
  return (
    typeof client === 'object' &&
    client !== null &&
    client.isCluster === true &&
    typeof client.evalsha === 'function' &&
    typeof client.sendCommand === 'function' &&
    typeof client.nodes === 'function' &&
    typeof client.refreshSlotsCache === 'function'
  )
}

/** As the slots name it; undefined: nobody is known to serve it. */
export function ownerOf(cluster: IoredisCluster, slot: number): string | undefined {
  return cluster.slots[slot]?.[0]
}

/** The node itself; undefined also where it is known and not there. */
export function primaryOf(cluster: IoredisCluster, slot: number): IoredisNode | undefined {
  return primaryAt(cluster, ownerOf(cluster, slot))
}

/** By its name in the slots. */
export function primaryAt(cluster: IoredisCluster, place: string | undefined): IoredisNode | undefined {
  return cluster.nodes('master').find((node) => nodeKey(node) === place)
}

/** As the slots name it. */
export function nodeKey({ options }: IoredisNode): string {
  return `${options.host ?? '127.0.0.1'}:${options.port ?? 6379}`
}
