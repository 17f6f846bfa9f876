import { RedisCluster, RedisServer, runSuites } from '@holdfast/faults/harness'
import { inTwoRuns } from '../support/two-runs.mjs'

// A WAIT on a new connection is answered differently before and after Redis 7.2.
const SMOKE = ['conformance', 'wire', 'replicas']
/** Suites of what each kind of lock, semaphore and latch promises, and of how a server answers. */
const CONTRACT = [
  ...['conformance', 'conformance-renewal', 'hold', 'identity', 'reentry', 'non-reentrant-lock', 'waiting'],
  ...['wire', 'fair-lock-wire', 'read-write-wire', 'schedule-wire'],
  ...['semaphore-wire', 'spin-lock-wire', 'replay', 'fenced-replay', 'semaphore-replay', 'batch'],
  ...['fair-lock', 'fair-lock-scripts', 'fair-lock-grants', 'fenced-lock', 'fenced-set', 'read-write-lock'],
  ...['spin-lock', 'semaphore', 'permit-semaphore', 'count-down-latch', 'schedule'],
  ...['wake-ups', 'lock-grants', 'tombstones', 'lost-data', 'lost-lines', 'unavailable', 'eviction'],
  ...['transactions', 'inspect', 'redis-clock', 'replicas', 'fail-over'],
  ...['conditions-crash', 'conditions-demoted', 'conditions-loading'],
  ...['conditions-out-of-memory', 'conditions-refused', 'conditions-script-flush', 'conditions-removed'],
  ...['ended-fields', 'no-channels', 'unknown-errors'],
]
const ON_CLUSTERS = ['conformance', 'hold', 'identity', 'reentry', 'non-reentrant-lock']
/** These count the connections to one server. */
const NOT_ON_CLUSTERS = ['leaves the connection it was given open', 'closes the connection it opened itself']
/** These start clusters of their own, with replicas. */
const OF_CLUSTERS = ['cluster', 'cluster-moves']

/**
 * Suites that a server cannot run: Redis 6.2 answers nothing while it loads two MiB, which takes those tests too long, and
 * has no option that allows DEBUG.
 */
const WITHOUT = { 'redis-6.2': ['conditions-loading', 'ended-fields'] }

/** The contract suites run on the oldest server, on the one of most distributions and on the newest of each family. */
const WITH_CONTRACT = ['valkey-9', 'redis-8.2', 'redis-7.0', 'redis-6.2']
const WITH_CLUSTER = ['valkey-9', 'redis-8.2']

/** @param {string} name of a server @param {boolean} smoke */
export const planOf = (name, smoke) => ({
  single: !smoke && WITH_CONTRACT.includes(name) ? 'contract' : 'smoke',
  cluster: WITH_CLUSTER.includes(name) ? (smoke ? 'smoke' : 'contract') : undefined,
})

/** @param {import('@holdfast/faults/harness').SuitesWanted} wanted */
const runSuitesTwice = (wanted) => inTwoRuns((suites = wanted.suites) => runSuites({ ...wanted, suites }))

/**
 * Runs on one server of this program.
 *
 * @param {string} name of the server
 * @param {string} program
 * @param {'contract' | 'smoke'} extent
 * @param {AbortSignal} interrupted
 */
export const runOnOneServer = async (name, program, extent, interrupted) => {
  const server = await RedisServer.start({ binary: program })
  try {
    return await runSuitesTwice({
      // node-redis takes the files that depend on the client.
      projects: extent === 'smoke' ? ['ioredis6'] : ['ioredis6', 'noderedis6'],
      suites: extent === 'smoke' ? SMOKE : CONTRACT.filter((suite) => !WITHOUT[name]?.includes(suite)),
      env: { HOLDFAST_TEST_REDIS_URL: server.url, HOLDFAST_REDIS_SERVER: program },
      interrupted,
    })
  } finally {
    await server.stop()
  }
}

/** Runs on a cluster of three primaries of this program; the suites about clusters start theirs. */
export const runOnCluster = async (_name, program, extent, interrupted) => {
  const cluster = await RedisCluster.start({ primaries: 3, replicasPerPrimary: 0, binary: program })
  const { endpoints } = cluster
  try {
    const env = { HOLDFAST_REDIS_SERVER: program }
    const topology = JSON.stringify({ kind: 'cluster', endpoints })
    const contract = await runSuitesTwice({
      projects: ['ioredis6'],
      suites: extent === 'smoke' ? SMOKE.slice(0, 1) : ON_CLUSTERS,
      without: NOT_ON_CLUSTERS,
      env: { ...env, HOLDFAST_TEST_TOPOLOGY: topology },
      interrupted,
    })
    if (extent === 'smoke') return contract
    const own = await runSuitesTwice({ projects: ['ioredis6'], suites: OF_CLUSTERS, env, interrupted })
    return {
      passed: contract.passed + own.passed,
      failed: contract.failed + own.failed,
      failures: [...contract.failures, ...own.failures],
      again: [...(contract.again ?? []), ...(own.again ?? [])],
    }
  } finally {
    await cluster.stop()
  }
}
