import { RedisCluster, RedisSentinels } from '@holdfast/testing'
import calculateSlot from 'cluster-key-slot'
import { Cluster, Redis } from 'ioredis'

// Some nodes need a while to forgive a node its last election (see RedisCluster.failOver).
const REST_MS = 2_500
const PAUSE_MS = 20_000
const rest = () => new Promise((resolve) => setTimeout(resolve, REST_MS))

const quiet = (client) => client.on('error', () => undefined)

/** A cluster, and what happens to the primary of one of its slots. */
const onCluster = (change, options = {}) => ({
  options,
  promise: options.replicas || change !== kill ? 'no wrong grant' : 'counted',
  start: async () => {
    const group = await RedisCluster.start({ nodeTimeoutMs: 1_000 })
    return {
      connect: () => quiet(new Cluster(group.endpoints, { clusterRetryStrategy: () => 50 })),
      /** @returns which of the names the change is about */
      change: async (names) => {
        const slot = calculateSlot(names[0])
        const former = await group.primaryOf(slot)
        const owners = await Promise.all(names.map((name) => group.primaryOf(calculateSlot(name))))
        return {
          affected: names.filter((_, i) => owners[i] === former),
          begin: () => change(group, { slot, former }),
        }
      },
      heal: async () => {
        await Promise.all(group.nodes.filter((node) => !node.running).map((node) => node.restart()))
        await group.healReplication()
        await rest()
      },
      stop: () => group.stop(),
    }
  },
})

/** Sentinels, and what happens to the primary that they watch. */
const onSentinels = (change, options = {}) => ({
  options,
  promise: options.replicas || change === paused ? 'no wrong grant' : 'counted',
  start: async () => {
    const group = await RedisSentinels.start({ replicas: 2, downAfterMs: 1_000 })
    const sentinels = { sentinels: group.endpoints, name: group.name, sentinelRetryStrategy: () => 50 }
    return {
      connect: () => quiet(new Redis({ ...sentinels, failoverDetector: true, retryStrategy: () => 50 })),
      change: async (names) => {
        const former = await group.primary()
        return { affected: names, begin: () => change(group, former) }
      },
      heal: async () => {
        await Promise.all(group.nodes.filter((node) => !node.running).map((node) => node.restart()))
        await group.healReplication()
        await group.settle()
      },
      stop: () => group.stop(),
    }
  },
})

const handOver =
  (mode) =>
  async (group, { former }) => {
    const [replica] = await group.replicasOf(former)
    await group.failOver(replica, mode)
  }
const kill = async (group, { slot, former }) => {
  await former.kill()
  await group.newPrimaryOf(slot, former)
}
const migrate = async (group, { slot, former }) => {
  const others = await Promise.all([0, 6_000, 12_000].map((each) => group.primaryOf(each)))
  await group.migrateSlot(
    slot,
    others.find((each) => each !== former),
  )
}
const crash = async (group, former) => {
  await former.kill()
  await group.newPrimary(former)
}

const planned = (group) => group.failOver()
/** As deployment.md says: nothing is written from before the switch until the former primary is a replica. */
const paused = async (group, former) => {
  await former.command('CLIENT', 'PAUSE', PAUSE_MS, 'WRITE')
  await group.healReplication()
  const primary = await group.failOver()
  await former.command('REPLICAOF', primary.host, primary.port)
  await former.command('CLIENT', 'UNPAUSE')
}

/** Acknowledged by all replicas there are: so the one that is gone has to come back, as a replica. */
const ACKS = (acks) => ({ replicas: { acks, timeoutMs: 500 } })
const andBack = (change) => async (group, what) => {
  await change(group, what)
  await (what.former ?? what).restart()
  await group.healReplication()
}

/** What is done while locks are contended for, and what is promised then. */
export const SCENARIOS = {
  'cluster-planned': onCluster(handOver()),
  'cluster-force': onCluster(handOver('FORCE')),
  'cluster-sigkill': onCluster(kill),
  'cluster-sigkill-acks': onCluster(andBack(kill), ACKS(1)),
  'cluster-migration': onCluster(migrate),
  'sentinel-planned': onSentinels(planned),
  'sentinel-planned-paused': onSentinels(paused),
  'sentinel-planned-acks': onSentinels(planned, ACKS(2)),
  'sentinel-sigkill': onSentinels(crash),
  'sentinel-sigkill-acks': onSentinels(andBack(crash), ACKS(2)),
}
