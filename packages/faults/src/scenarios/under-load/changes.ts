import { setTimeout as sleep } from 'node:timers/promises'
import type { LockClientOptions } from '@holdfast/core'
import { RedisCluster, RedisSentinels, type FailOverMode, type RedisServer } from '@holdfast/faults/harness'
import { clusterCarrier, sentinelCarrier, type Carrier, type CarrierName } from '../../workload/carriers.js'

// Some nodes need a while to forgive a node its last election (see RedisCluster.failOver).
const REST_MS = 2_500
const PAUSE_MS = 20_000

/** Servers whose primary is about to change. */
export interface Group {
  connect(): Carrier
  /** Which of the names the change is about, and what makes it happen. */
  prepare(names: readonly string[]): Promise<{ affected: readonly string[]; change: () => Promise<unknown> }>
  /** Makes the group whole again. */
  heal(): Promise<void>
  stop(): Promise<void>
}

/** A change of servers under load, and what is promised then. */
export interface Change {
  readonly options: LockClientOptions
  /** `counted`: a grant beside a holder that believes in its lock is possible, and counted. */
  readonly promise: 'no wrong grant' | 'counted'
  readonly start: (client: CarrierName) => Promise<Group>
}

interface Slot {
  readonly slot: number
  readonly former: RedisServer
}

const slotOf = async ({ nodes: [node] }: RedisCluster, name: string): Promise<number> =>
  Number(await node?.command('CLUSTER', 'KEYSLOT', name))

/** The whole group again: every server runs and has what its primary has. */
const restored = async (group: RedisCluster | RedisSentinels): Promise<void> => {
  await Promise.all(group.nodes.filter((node) => !node.running).map((node) => node.restart()))
  await group.healReplication()
}

/** A cluster, and what happens to the primary of one of its slots. */
const onCluster = (
  change: (group: RedisCluster, slot: Slot) => Promise<unknown>,
  promise: Change['promise'],
  options: LockClientOptions = {},
): Change => ({
  options,
  promise,
  start: async (client) => {
    const group = await RedisCluster.start({ nodeTimeoutMs: 1_000 })
    return {
      connect: () => clusterCarrier(client, group.endpoints),
      prepare: async (names) => {
        const slots = await Promise.all(names.map((name) => slotOf(group, name)))
        const slot = slots[0] ?? 0
        const former = await group.primaryOf(slot)
        const owners = await Promise.all(slots.map((each) => group.primaryOf(each)))
        return {
          affected: names.filter((_, i) => owners[i] === former),
          change: () => change(group, { slot, former }),
        }
      },
      heal: async () => {
        await restored(group)
        await sleep(REST_MS)
      },
      stop: () => group.stop(),
    }
  },
})

/** Sentinels, and what happens to the primary that they watch. */
const onSentinels = (
  change: (group: RedisSentinels, former: RedisServer) => Promise<unknown>,
  promise: Change['promise'],
  options: LockClientOptions = {},
): Change => ({
  options,
  promise,
  start: async (client) => {
    const group = await RedisSentinels.start({ replicas: 2, downAfterMs: 1_000 })
    return {
      connect: () => sentinelCarrier(client, group.endpoints, group.name),
      prepare: async (names) => {
        const former = await group.primary()
        return { affected: names, change: () => change(group, former) }
      },
      heal: async () => {
        await restored(group)
        await group.settle()
      },
      stop: () => group.stop(),
    }
  },
})

const handOver =
  (mode?: FailOverMode) =>
  async (group: RedisCluster, { former }: Slot): Promise<void> => {
    const [replica] = await group.replicasOf(former)
    await group.failOver(replica as RedisServer, mode)
  }
const kill = async (group: RedisCluster, { slot, former }: Slot): Promise<void> => {
  await former.kill()
  await group.newPrimaryOf(slot, former)
}
const migrate = async (group: RedisCluster, { slot, former }: Slot): Promise<void> => {
  const others = await Promise.all([0, 6_000, 12_000].map((each) => group.primaryOf(each)))
  await group.migrateSlot(slot, others.find((each) => each !== former) as RedisServer)
}
const crash = async (group: RedisSentinels, former: RedisServer): Promise<void> => {
  await former.kill()
  await group.newPrimary(former)
}
const planned = (group: RedisSentinels): Promise<unknown> => group.failOver()
/** Rule of deployment.md: nothing is written from before the switch until the former primary is a replica. */
const paused = async (group: RedisSentinels, former: RedisServer): Promise<void> => {
  await former.command('CLIENT', 'PAUSE', PAUSE_MS, 'WRITE')
  await group.healReplication()
  const primary = await group.failOver()
  await former.command('REPLICAOF', primary.host, primary.port)
  await former.command('CLIENT', 'UNPAUSE')
}

/** Acknowledged by all replicas there are: so the one that is gone has to come back, as a replica. */
const acks = (replicas: number): LockClientOptions => ({ replicas: { acks: replicas, timeoutMs: 500 } })
const killAndBack = async (group: RedisCluster, slot: Slot): Promise<void> => {
  await kill(group, slot)
  await restored(group)
}
const crashAndBack = async (group: RedisSentinels, former: RedisServer): Promise<void> => {
  await crash(group, former)
  await restored(group)
}

export const CHANGES = {
  'cluster-planned': onCluster(handOver(), 'no wrong grant'),
  'cluster-force': onCluster(handOver('FORCE'), 'no wrong grant'),
  'cluster-sigkill': onCluster(kill, 'counted'),
  'cluster-sigkill-acks': onCluster(killAndBack, 'no wrong grant', acks(1)),
  'cluster-migration': onCluster(migrate, 'no wrong grant'),
  'sentinel-planned': onSentinels(planned, 'counted'),
  'sentinel-planned-paused': onSentinels(paused, 'no wrong grant'),
  'sentinel-planned-acks': onSentinels(planned, 'no wrong grant', acks(2)),
  'sentinel-sigkill': onSentinels(crash, 'counted'),
  'sentinel-sigkill-acks': onSentinels(crashAndBack, 'no wrong grant', acks(2)),
} satisfies Record<string, Change>

export type ChangeName = keyof typeof CHANGES
