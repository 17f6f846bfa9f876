import { errorMonitor } from 'node:events'
import type { NodeRedisClient } from './client.js'
import type { NodeRedisCluster, NodeRedisPool, NodeRedisSentinel, NodeAddress } from './several.js'

/** The origins of our own connections for such a client. */
export interface Origin {
  /** Its user has opened the client, and not closed it. */
  readonly isOpen: boolean
  /** One of its own connections, whose options ours get. Null: there is none yet. Never rejects. */
  template(): Promise<NodeRedisClient | null>
  /** Whether connections follow a primary, which fail-overs move, and must not lead to a replica. */
  readonly isMoving: boolean
  /** Where to connect. Undefined: it is not known now, or the options say it. */
  address(): NodeAddress | undefined
  /** Returns a function that ends it. */
  watch(events: OriginEvents): () => void
}

export interface OriginEvents {
  /** The primary is elsewhere. */
  readonly moved: (why: string, address: string) => void
  /** The client has become ready, or was closed. */
  readonly changed: () => void
  /** The client reports an error of its own connections. */
  readonly trouble: (error: unknown) => void
}

/** A pool: all connections are alike. */
export function poolOrigin(pool: NodeRedisPool): Origin {
  return {
    get isOpen() {
      return pool.isOpen
    },
    isMoving: false,
    template: () => templateBy(pool.execute((client: NodeRedisClient) => client)),
    address: () => undefined,
    watch: ({ trouble }) => listening(pool, [[errorMonitor, trouble]]),
  }
}

/** Behind Sentinel: the connection to the primary. */
export function sentinelOrigin(sentinel: NodeRedisSentinel): Origin {
  return {
    get isOpen() {
      return sentinel.isOpen
    },
    isMoving: true,
    // Before it is ready, this call would make node-redis ask the Sentinels again and again without a pause.
    template: async () =>
      sentinel.getMasterNode()
        ? templateBy(sentinel._execute(false, (client: NodeRedisClient) => Promise.resolve(client)))
        : null,
    address: () => sentinel.getMasterNode(),
    watch: ({ moved, changed, trouble }) => {
      let named = ''
      const onTopology = ({ type, node }: { type: string; node: NodeAddress }): void => {
        // With a `nodeAddressMap`, node-redis reports the same primary again and again.
        if (type === 'MASTER_CHANGE' && named !== `${node.host}:${node.port}`) {
          named = `${node.host}:${node.port}`
          moved(`Sentinel names ${named} as the primary.`, named)
        }
      }
      // node-redis 5 has neither 'ready' nor 'end'.
      return listening(sentinel, [
        ['topology-change', onTopology],
        ['ready', changed],
        ['end', changed],
        [errorMonitor, trouble],
      ])
    },
  }
}

/** One node of a cluster, by its own name for it. */
export function nodeOrigin(cluster: NodeRedisCluster, address: string): Origin {
  return {
    get isOpen() {
      return cluster.isOpen
    },
    isMoving: false,
    template: () => clusterTemplate(cluster),
    address: () => mapped(cluster, address),
    // The port of the cluster does it.
    watch: () => () => undefined,
  }
}

/** Any connection of the cluster: their options differ in the address only. */
function clusterTemplate(cluster: NodeRedisCluster): Promise<NodeRedisClient | null> {
  const [node] = cluster.masters
  return node ? templateBy(cluster.nodeClient(node as never)) : Promise.resolve(null)
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as an EventEmitter has it; nothing stricter fits
type Heard = readonly [event: string | symbol, listener: (...args: any[]) => void]

function listening(client: Pick<NodeRedisPool, 'on' | 'off'>, all: readonly Heard[]): () => void {
  all.forEach(([event, listener]) => client.on(event, listener))
  return () => all.forEach(([event, listener]) => client.off(event, listener))
}

/** The client reports its error itself; null: there is no connection yet. */
async function templateBy(asking: unknown): Promise<NodeRedisClient | null> {
  try {
    return (await asking) as NodeRedisClient
  } catch {
    return null
  }
}

/** Where to connect for an address, which the option `nodeAddressMap` may change. */
function mapped({ _options }: NodeRedisCluster, address: string): NodeAddress {
  const { nodeAddressMap: map } = _options as {
    readonly nodeAddressMap?: Record<string, NodeAddress> | ((address: string) => NodeAddress | undefined)
  }
  const end = address.lastIndexOf(':')
  const itself = { host: address.slice(0, end), port: Number(address.slice(end + 1)) }
  return (typeof map === 'function' ? map(address) : map?.[address]) ?? itself
}
