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

/** Suites of what every kind of lock promises, wherever its Redis is. */
const SUITES = ['conformance', 'conformance-renewal', 'hold', 'identity', 'reentry', 'non-reentrant-lock']
const SMOKE = ['conformance']
/** These count the connections to one server, with a client of one connection. */
const HAVE_MORE_CONNECTIONS = ['cluster', 'pool']
const NOT_WITH_MORE_CONNECTIONS = [
  'leaves the connection it was given open',
  'closes the connection it opened itself',
]
const CLIENTS = ['ioredis6', 'ioredis5', 'noderedis6', 'noderedis5'] as const
const OF_NODE_REDIS: readonly string[] = ['noderedis6', 'noderedis5']
// Replicas hand on at once what they get, so that a WAIT lasts for a round trip and not for a cron tick.
const ACKS = { replicas: { acks: 2, timeoutMs: 2_000 } }

/** Servers, and what the suites are told about them. */
interface Started {
  readonly servers: { stop(): Promise<void> }
  /** Addresses of the primary; a cluster has several. */
  readonly url?: string
  /** The form that packages/core/test/redis/support/topology.ts reads. */
  readonly topology: { readonly kind: 'single' | 'pool' | 'sentinel' | 'cluster' } & Readonly<
    Record<string, unknown>
  >
}

interface Topology {
  readonly what: string
  readonly start: () => Promise<Started>
  /** ioredis has no such client. */
  readonly isOfNodeRedis?: boolean
}

/** The rights of the user in docs/acl.md, for locks whose names begin with `prefix`, as those of the tests do. */
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
  pool: {
    what: 'one Redis, pools of node-redis',
    start: async () => {
      const servers = await RedisServer.start()
      return { servers, url: servers.url, topology: { kind: 'pool', endpoints: [] } }
    },
    isOfNodeRedis: true,
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
  clients: someOf(CLIENTS, 'clients'),
  smoke: flag('one suite of each, on the first of the clients'),
}

export const topologies = defineScenario({
  name: 'topologies',
  summary: 'The contract suites of every kind of lock on replicas, Sentinel, clusters and a restricted user.',
  options,
  // `npm test` runs ioredis's.
  smoke: '--smoke --only sentinel,cluster --clients noderedis6',
  long: '',

  async run(run) {
    const results: Result[] = []
    for (const name of run.options.only) {
      const clients = run.options.clients.filter((each) => canBeOn(name, each))
      if (clients.length > 0) results.push(await runOn(name, clients, run))
    }
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

const canBeOn = (name: TopologyName, client: string): boolean => {
  const { isOfNodeRedis = false }: Topology = TOPOLOGIES[name]
  return !isOfNodeRedis || OF_NODE_REDIS.includes(client)
}

const runOn = async (
  name: TopologyName,
  clients: readonly string[],
  run: Run<typeof options>,
): Promise<Result> => {
  const { what, start }: Topology = TOPOLOGIES[name]
  run.progress(`${name}: ${what}`)
  const started = await start()
  try {
    const { passed, failures } = await runSuites(suitesOn(started, clients, run))
    return { name, what, passed, failed: failures }
  } finally {
    await started.servers.stop()
  }
}

const suitesOn = (
  { topology, url }: Started,
  clients: readonly string[],
  { options: { smoke }, interrupted }: Run<typeof options>,
): SuitesWanted => {
  return {
    projects: smoke ? clients.slice(0, 1) : clients,
    suites: smoke ? SMOKE : SUITES,
    without: HAVE_MORE_CONNECTIONS.includes(topology.kind) ? NOT_WITH_MORE_CONNECTIONS : [],
    env: {
      // Every kind of lock with each of them.
      HOLDFAST_TEST_EVERY_CLIENT: '1',
      HOLDFAST_TEST_TOPOLOGY: JSON.stringify(topology),
      ...(url === undefined ? {} : { HOLDFAST_TEST_REDIS_URL: url }),
    },
    interrupted,
  }
}
