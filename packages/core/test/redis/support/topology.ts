import { Cluster, Redis } from 'ioredis'
import type { LockClientOptions } from '../../../src/index.js'
import { connectionTo } from './carrier.js'
import { topology, type Topology } from './given-topology.js'

/** The options of every client of a contract suite there. */
export const topologyOptions: LockClientOptions = topology?.clientOptions ?? {}

/** The options of the connections of clients there. */
export const topologyCredentials = topology?.credentials ?? {}

/** A connection to it. A Cluster is used like a Redis by whoever asks for one key at a time. */
export function openRedis(url: string, options: object = {}): Redis {
  if (topology?.kind === 'cluster') {
    return quiet(openCluster(topology, options) as unknown as Redis)
  }
  if (topology?.kind === 'sentinel') {
    const { endpoints, name = '' } = topology
    return quiet(new Redis({ sentinels: [...endpoints], name, disconnectTimeout: 50, ...options }))
  }
  return connectionTo(url, options)
}

function quiet(connection: Redis): Redis {
  return connection.on('error', () => undefined)
}

function openCluster({ endpoints }: Topology, options: object): Cluster {
  const { lazyConnect = false, ...redisOptions } = options as { lazyConnect?: boolean }
  const cluster = new Cluster([...endpoints], {
    lazyConnect,
    redisOptions: { disconnectTimeout: 50, ...redisOptions },
  })
  return Object.assign(cluster, ofAllNodes(cluster))
}

/** Questions that one node alone cannot answer. */
function ofAllNodes(cluster: Cluster) {
  // By name: the methods of that name are those below.
  const call = (command: string, key: string): Promise<unknown> => cluster.call(command, key)
  const masters = (): Redis[] => cluster.nodes('master')
  const union = async (ask: (node: Redis) => Promise<unknown>): Promise<string[]> => {
    const answers = await Promise.all(masters().map(ask))
    return [...new Set((answers as string[][]).flat())]
  }
  const sum = async (counts: readonly Promise<unknown>[]): Promise<number> =>
    (await Promise.all(counts)).reduce<number>((total, each) => total + Number(each), 0)
  const channels = (kind: string, pattern: string) => union((node) => node.call('PUBSUB', kind, pattern))
  const listeners = (kind: string, channel: string) =>
    masters().map(async (node) => ((await node.call('PUBSUB', kind, channel)) as unknown[])[1])
  return {
    keys: (pattern: string) => union((node) => node.keys(pattern)),
    exists: (...keys: string[]) => sum(keys.map((key) => call('EXISTS', key))),
    del: (...keys: (string | string[])[]) => sum(keys.flat().map((key) => call('DEL', key))),
    pubsub: async (subcommand: 'CHANNELS' | 'NUMSUB', argument: string) =>
      subcommand === 'CHANNELS'
        ? [...(await channels('CHANNELS', argument)), ...(await channels('SHARDCHANNELS', argument))]
        : [argument, await sum([...listeners('NUMSUB', argument), ...listeners('SHARDNUMSUB', argument)])],
    client: async (subcommand: 'LIST') =>
      (await Promise.all(masters().map((node) => node.client(subcommand)))).join(''),
  }
}
