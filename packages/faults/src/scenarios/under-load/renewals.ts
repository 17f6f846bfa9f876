import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { RedisCluster, type RedisServer } from '@holdfast/faults/harness'
import { clusterCarrier, type CarrierName } from '../../workload/carriers.js'
import { scriptStatsOf } from '../../workload/server-stats.js'

const LEASE_MS = 15_000
const CYCLE_MS = LEASE_MS / 3
const AT_ONCE = 500
const TAGS = 100

export interface RenewalCost {
  readonly scripts: number
  readonly serverMs: number
  /** The longest time that one script kept a server from anything else. */
  readonly longestMs: number
  readonly lost: number
}

export interface Renewals {
  readonly held: number
  readonly apart: RenewalCost
  readonly tagged: RenewalCost
}

/** What one renewal of so many locks of one client costs a cluster. */
export const renewals = async (
  held: number,
  { client, interrupted }: { client: CarrierName; interrupted: AbortSignal },
): Promise<Renewals> => {
  const cluster = await RedisCluster.start({ replicasPerPrimary: 0 })
  try {
    const apart = await measure(cluster, (i) => `order:${i}`, { held, client, interrupted })
    const tagged = await measure(cluster, (i) => `{tenant:${i % TAGS}}:order:${i}`, {
      held,
      client,
      interrupted,
    })
    return { held, apart, tagged }
  } finally {
    await cluster.stop()
  }
}

const measure = async (
  cluster: RedisCluster,
  nameOf: (i: number) => string,
  { held, client, interrupted: signal }: { held: number; client: CarrierName; interrupted: AbortSignal },
): Promise<RenewalCost> => {
  const carrier = clusterCarrier(client, cluster.endpoints)
  const locks = await LockClient.connect(carrier.client, {
    lockWatchdogTimeout: LEASE_MS,
    bareCalls: 'allow',
  })
  let lost = 0
  locks.on('lost', () => (lost += 1))
  try {
    for (let i = 0; i < held; i += AT_ONCE) {
      signal.throwIfAborted()
      const names = Array.from({ length: Math.min(AT_ONCE, held - i) }, (_, k) => nameOf(i + k))
      await Promise.all(names.map((name) => locks.getLock(name).acquire()))
    }
    // The first renewal of all brings the script to each node by its text.
    await sleep(CYCLE_MS, undefined, { signal })
    await Promise.all(cluster.nodes.map((node) => node.resetStats()))
    await sleep(CYCLE_MS, undefined, { signal })
    const longest = await Promise.all(cluster.nodes.map(longestScriptMs))
    const runs = await Promise.all(cluster.nodes.map(scriptStatsOf))
    return {
      scripts: runs.reduce((total, { calls }) => total + calls, 0),
      serverMs: runs.reduce((total, { usec }) => total + usec, 0) / 1_000,
      longestMs: Math.max(...longest),
      lost,
    }
  } finally {
    await locks.close({ graceMs: 0 })
    await carrier.end()
  }
}

/** By the histogram that Redis 7 keeps: a script ran for no longer than this. Redis does nothing else meanwhile. */
const longestScriptMs = async (node: RedisServer): Promise<number> => {
  const reply = (await node.command('LATENCY', 'HISTOGRAM', 'evalsha')) as [unknown, unknown[]?]
  const buckets = (reply[1]?.[3] ?? []) as number[]
  return Math.max(0, ...buckets.filter((_, i) => i % 2 === 0)) / 1_000
}
