import { RedisCluster, RedisSentinels, RedisServer, runSuites } from '@holdfast/faults/harness'
import { inTwoRuns } from '../support/two-runs.mjs'

/** Suites of what every kind of lock promises, and of faults of connections. */
const CONTRACT = [
  ...['conformance', 'conformance-renewal', 'hold', 'identity', 'reentry', 'non-reentrant-lock'],
  'connection-contract',
]
/** Suites that depend on how a client sends, breaks and listens; they start or break servers of their own. */
const OF_CLIENTS = [
  'waiting',
  'wake-ups',
  'replay',
  'fair-lock',
  'fenced-lock',
  'transactions',
  'unavailable',
]
/** These count the connections to one server. */
const NOT_ON_CLUSTERS = ['leaves the connection it was given open', 'closes the connection it opened itself']

/** Servers, their URL where one answers, and what the suites are told about them. */
const START = {
  single: async () => {
    const servers = await RedisServer.start()
    return { servers, url: servers.url, topology: undefined }
  },
  cluster: async () => {
    const servers = await RedisCluster.start({ primaries: 3, replicasPerPrimary: 1 })
    return { servers, topology: { kind: 'cluster', endpoints: servers.endpoints } }
  },
  sentinel: async () => {
    const servers = await RedisSentinels.start({ replicas: 2, sentinels: 3 })
    const { endpoints, name } = servers
    const { url } = await servers.primary()
    return { servers, url, topology: { kind: 'sentinel', endpoints, name } }
  },
}

/**
 * Runs the contract with one client.
 *
 * @param {'single' | 'cluster' | 'sentinel'} name
 * @param {string} client a project of jest.config.js
 * @param {AbortSignal} interrupted
 * @returns {Promise<import('../support/cell.mjs').Outcome>}
 */
export const runOn = async (name, client, interrupted) => {
  const { servers, url, topology } = await START[name]()
  const all = name === 'single' ? [...CONTRACT, ...OF_CLIENTS] : CONTRACT
  try {
    return await inTwoRuns((suites = all) =>
      runSuites({
        projects: [client],
        suites,
        without: name === 'cluster' ? NOT_ON_CLUSTERS : [],
        env: {
          // Every kind of lock, and the project of iovalkey.
          HOLDFAST_TEST_EVERY_CLIENT: '1',
          ...(topology ? { HOLDFAST_TEST_TOPOLOGY: JSON.stringify(topology) } : {}),
          ...(url ? { HOLDFAST_TEST_REDIS_URL: url } : {}),
        },
        interrupted,
      }),
    )
  } finally {
    await servers.stop()
  }
}
