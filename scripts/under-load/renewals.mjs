import { LockClient } from '@holdfast/core'
import { RedisCluster } from '@holdfast/testing'
import { Cluster } from 'ioredis'

const LEASE_MS = 15_000
const CYCLE_MS = LEASE_MS / 3
const AT_ONCE = 500
const TAGS = 100

/**
 * What the renewal of so many locks of one client costs a cluster: scripts and their time on the servers in one cycle,
 * and the longest time that one of them kept a server from anything else.
 */
export const renewals = async (held, interrupted) => {
  const cluster = await RedisCluster.start({ replicasPerPrimary: 0 })
  try {
    const apart = await measure(cluster, (i) => `order:${i}`, { held, interrupted })
    const tagged = await measure(cluster, (i) => `{tenant:${i % TAGS}}:order:${i}`, { held, interrupted })
    return { held, apart, tagged }
  } finally {
    await cluster.stop()
  }
}

const measure = async (cluster, nameOf, { held, interrupted }) => {
  const redis = new Cluster(cluster.endpoints)
  const locks = await LockClient.connect(redis, { lockWatchdogTimeout: LEASE_MS, bareCalls: 'allow' })
  let lost = 0
  locks.on('lost', () => (lost += 1))
  try {
    for (let i = 0; i < held; i += AT_ONCE) {
      interrupted.throwIfAborted()
      const names = Array.from({ length: Math.min(AT_ONCE, held - i) }, (_, k) => nameOf(i + k))
      await Promise.all(names.map((name) => locks.getLock(name).acquire()))
    }
    // The first renewal of all brings the script to each node by its text.
    await new Promise((resolve) => setTimeout(resolve, CYCLE_MS))
    await Promise.all(cluster.nodes.map((node) => node.resetStats()))
    await new Promise((resolve) => setTimeout(resolve, CYCLE_MS))
    const longest = await Promise.all(cluster.nodes.map(longestScriptMs))
    const runs = await Promise.all(cluster.nodes.map(scriptsOf))
    const sum = (of) => runs.reduce((total, each) => total + each[of], 0)
    return { scripts: sum('calls'), serverMs: sum('usec') / 1_000, longestMs: Math.max(...longest), lost }
  } finally {
    await locks.close({ graceMs: 0 })
    redis.disconnect()
  }
}

const scriptsOf = async (node) => {
  const text = String(await node.command('INFO', 'commandstats'))
  const [, calls = '0', usec = '0'] = /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(text) ?? []
  return { calls: Number(calls), usec: Number(usec) }
}

/** By the histogram that Redis 7 keeps: a script ran for no longer than this. Redis does nothing else meanwhile. */
const longestScriptMs = async (node) => {
  const reply = await node.command('LATENCY', 'HISTOGRAM', 'evalsha')
  const [, [, , , buckets = []] = []] = reply
  return Math.max(0, ...buckets.filter((_, i) => i % 2 === 0)) / 1_000
}
