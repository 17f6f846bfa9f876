import { readFileSync } from 'node:fs'
import { RedisCluster, RedisReplication, RedisSentinels, RedisServer } from '@holdfast/faults/harness'

/** Of the user in docs/acl.md, for locks whose names begin as those of the tests do. */
const rulesOf = (prefix) => {
  const page = readFileSync(new URL('../../docs/acl.md', import.meta.url), 'utf8')
  const [, rules] = /^ACL SETUSER ([^`]+)^```/m.exec(page)
  return rules.trim().replaceAll('app:', prefix).split(/\s+/)
}

// Replicas hand on at once what they get, so that a WAIT lasts for a round trip and not for a cron tick.
const ACKS = { replicas: { acks: 2, timeoutMs: 2_000 } }

/**
 * What the contract suites run on: how to start it, and what they are told about it.
 *
 * @type {Record<string, { what: string, start: () => Promise<{ stop(): Promise<void>, topology: object, url?: string }> }>}
 */
export const TOPOLOGIES = {
  single: {
    what: 'one Redis',
    start: async () => {
      const server = await RedisServer.start()
      return { stop: () => server.stop(), url: server.url, topology: { kind: 'single', endpoints: [] } }
    },
  },
  replicas: {
    what: 'primary + 2 replicas, acks of both',
    start: async () => {
      const group = await RedisReplication.start({ replicas: 2 })
      return {
        stop: () => group.stop(),
        url: group.primary.url,
        topology: { kind: 'single', endpoints: [], clientOptions: ACKS },
      }
    },
  },
  sentinel: {
    what: '3 sentinels, primary + 2 replicas',
    start: async () => {
      const group = await RedisSentinels.start({ replicas: 2, sentinels: 3 })
      const { endpoints, name } = group
      const { url } = await group.primary()
      return { stop: () => group.stop(), url, topology: { kind: 'sentinel', endpoints, name } }
    },
  },
  acl: {
    what: 'one Redis, as the user of docs/acl.md',
    start: async () => {
      const server = await RedisServer.start()
      await server.command('ACL', 'SETUSER', ...rulesOf('t'))
      const credentials = { username: 'service', password: 'secret' }
      const topology = { kind: 'single', endpoints: [], credentials }
      return { stop: () => server.stop(), url: server.url, topology }
    },
  },
  cluster: {
    what: 'cluster of 3 + 3, sharded messages',
    start: async () => {
      const cluster = await RedisCluster.start({ primaries: 3, replicasPerPrimary: 1 })
      const { endpoints } = cluster
      return { stop: () => cluster.stop(), topology: { kind: 'cluster', endpoints } }
    },
  },
  'cluster-classic': {
    what: 'cluster of 3 + 3, classic messages',
    start: async () => {
      const cluster = await RedisCluster.start({ primaries: 3, replicasPerPrimary: 1 })
      const { endpoints } = cluster
      const clientOptions = { shardedPubSub: 'off' }
      return { stop: () => cluster.stop(), topology: { kind: 'cluster', endpoints, clientOptions } }
    },
  },
}
