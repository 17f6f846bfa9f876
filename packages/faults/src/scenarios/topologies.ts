// The contract suites of every kind of lock on every topology that a service really runs on. docs/deployment.md has the
// figures.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  RedisCluster,
  RedisReplication,
  RedisSentinels,
  RedisServer,
  runSuites,
  type SuitesWanted,
} from '@holdfast/faults/harness'
import { flag, someOf } from '../run/options.js'
import { defineScenario, type Run } from '../run/scenario.js'
import { table } from '../run/table.js'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

/** What every kind of lock promises, wherever its Redis is. */
const SUITES = ['conformance', 'conformance-renewal', 'hold', 'identity', 'reentry', 'non-reentrant-lock']
const SMOKE = ['conformance']
/** These count the connections to one server. */
const NOT_ON_CLUSTERS = ['leaves the connection it was given open', 'closes the connection it opened itself']
const CLIENTS = ['ioredis6', 'ioredis5']
/** node-redis's Sentinel and cluster are not supported. */
const CLIENTS_OF_ONE_SERVER = [...CLIENTS, 'noderedis6']
// Replicas hand on at once what they get, so that a WAIT lasts for a round trip and not for a cron tick.
const ACKS = { replicas: { acks: 2, timeoutMs: 2_000 } }

/** Servers, and what the suites are told about them. */
interface Started {
  readonly servers: { stop(): Promise<void> }
  /** Of the primary; a cluster has several. */
  readonly url?: string
  /** As packages/core/test/redis/support/topology.ts reads it. */
  readonly topology: { readonly kind: 'single' | 'sentinel' | 'cluster' } & Readonly<Record<string, unknown>>
}

interface Topology {
  readonly what: string
  readonly start: () => Promise<Started>
}

/** Of the user in docs/acl.md, for locks whose names begin with `prefix`, as those of the tests do. */
const rulesOf = async (prefix: string): Promise<string[]> => {
  const page = await readFile(join(ROOT, 'docs/acl.md'), 'utf8')
  const [, rules = ''] = /^ACL SETUSER ([^`]+)^```/m.exec(page) ?? []
  return rules.trim().replaceAll('app:', prefix).split(/\s+/)
}

const onCluster = async (clientOptions: Readonly<Record<string, unknown>>): Promise<Started> => {
  const servers = await RedisCluster.start({ primaries: 3, replicasPerPrimary: 1 })
  return { servers, topology: { kind: 'cluster', endpoints: servers.endpoints, clientOptions } }
}

const TOPOLOGIES = {
  single: {
    what: 'one Redis',
    start: async () => {
      const servers = await RedisServer.start()
      return { servers, url: servers.url, topology: { kind: 'single', endpoints: [] } }
    },
  },
  replicas: {
    what: 'primary + 2 replicas, acks of both',
    start: async () => {
      const servers = await RedisReplication.start({ replicas: 2 })
      const topology = { kind: 'single', endpoints: [], clientOptions: ACKS } as const
      return { servers, url: servers.primary.url, topology }
    },
  },
  sentinel: {
    what: '3 sentinels, primary + 2 replicas',
    start: async () => {
      const servers = await RedisSentinels.start({ replicas: 2, sentinels: 3 })
      const { endpoints, name } = servers
      const { url } = await servers.primary()
      return { servers, url, topology: { kind: 'sentinel', endpoints, name } }
    },
  },
  acl: {
    what: 'one Redis, as the user of docs/acl.md',
    start: async () => {
      const servers = await RedisServer.start()
      await servers.command('ACL', 'SETUSER', ...(await rulesOf('t')))
      const credentials = { username: 'service', password: 'secret' }
      return { servers, url: servers.url, topology: { kind: 'single', endpoints: [], credentials } }
    },
  },
  cluster: { what: 'cluster of 3 + 3, sharded messages', start: () => onCluster({}) },
  'cluster-classic': {
    what: 'cluster of 3 + 3, classic messages',
    start: () => onCluster({ shardedPubSub: 'off' }),
  },
} satisfies Record<string, Topology>

type TopologyName = keyof typeof TOPOLOGIES

const options = {
  only: someOf(Object.keys(TOPOLOGIES) as TopologyName[], 'topologies'),
  smoke: flag('one suite of each, on one client'),
}

export const topologies = defineScenario({
  name: 'topologies',
  summary: 'The contract suites of every kind of lock on replicas, Sentinel, clusters and a restricted user.',
  options,
  smoke: '--smoke --only sentinel,cluster',
  long: '',

  async run(run) {
    const results: Result[] = []
    for (const name of run.options.only) results.push(await runOn(name, run))
    return {
      figures: results,
      report: table([
        ['', 'passed', 'failed'],
        ...results.map(({ what, passed, failed }) => [what, String(passed), String(failed.length)]),
      ]),
      violations: results.flatMap(({ name, passed, failed }) => [
        ...(passed > 0 ? [] : [`${name}: no test has passed: this run proves nothing`]),
        ...failed.map((each) => `${name}: ${each}`),
      ]),
    }
  },
})

interface Result {
  readonly name: TopologyName
  readonly what: string
  readonly passed: number
  readonly failed: readonly string[]
}

const runOn = async (name: TopologyName, run: Run<typeof options>): Promise<Result> => {
  const { what, start }: Topology = TOPOLOGIES[name]
  run.progress(`${name}: ${what}`)
  const started = await start()
  try {
    const { passed, failures } = await runSuites(suitesOn(started, run))
    return { name, what, passed, failed: failures }
  } finally {
    await started.servers.stop()
  }
}

const suitesOn = (
  { topology, url }: Started,
  { options: { smoke }, interrupted }: Run<typeof options>,
): SuitesWanted => {
  const clients = topology.kind === 'single' ? CLIENTS_OF_ONE_SERVER : CLIENTS
  return {
    projects: smoke ? clients.slice(0, 1) : clients,
    suites: smoke ? SMOKE : SUITES,
    without: topology.kind === 'cluster' ? NOT_ON_CLUSTERS : [],
    env: {
      // Every kind of lock with each of them.
      HOLDFAST_TEST_EVERY_CLIENT: '1',
      HOLDFAST_TEST_TOPOLOGY: JSON.stringify(topology),
      ...(url === undefined ? {} : { HOLDFAST_TEST_REDIS_URL: url }),
    },
    interrupted,
  }
}
