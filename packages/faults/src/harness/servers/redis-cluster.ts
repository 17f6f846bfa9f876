import type { RedisServer } from './redis-server.js'
import type { Endpoint } from '../network/round-trip.js'
import { SLOTS, assembleCluster } from './assemble-cluster.js'
import { agreedMembers, membersSeenBy, owns } from './cluster-state.js'
import { expectState, observe } from './observe.js'
import { CUTTABLE_ARGS, REPLICATION_ARGS, allowLinks, cutLinks, inSync } from './replication-state.js'
import { checkCount, checkMember, running, serverAt, startServers, stopServers } from './server-group.js'
import type { TopologyOptions } from './server-group.js'
import { SlotMigration } from './slot-migration.js'
import { settleStaleElection } from './stale-election.js'

/** How to start a `RedisCluster`. */
export interface ClusterOptions extends TopologyOptions {
  /** 3 by default, which is also the least that can replace one that is down. */
  readonly primaries?: number
  /** 1 by default. */
  readonly replicasPerPrimary?: number
  /** How long a node may be silent before others take it for down, in ms; 2000 by default. */
  readonly nodeTimeoutMs?: number
}

/** FORCE does without the old primary's consent, TAKEOVER also without the other primaries' votes. */
export type FailOverMode = 'FORCE' | 'TAKEOVER'

/** A Redis Cluster on loopback. Needs Redis 6 or later. */
export class RedisCluster {
  /** All nodes, whatever they are at the moment. */
  readonly nodes: readonly RedisServer[]

  private constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes
  }

  /** Resolves when every node finds the cluster ok and replicas are in sync; if that fails, nothing is left. */
  static async start(options: ClusterOptions = {}): Promise<RedisCluster> {
    const { primaries = 3, replicasPerPrimary = 1, nodeTimeoutMs = 2_000, args = [], ...rest } = options
    checkCount('primaries', primaries, 1)
    checkCount('replicasPerPrimary', replicasPerPrimary, 0)
    checkCount('nodeTimeoutMs', nodeTimeoutMs, 1)
    const nodeArgs = [...clusterArgs(nodeTimeoutMs), ...REPLICATION_ARGS, ...CUTTABLE_ARGS, ...args]
    const nodes = await startServers(primaries * (1 + replicasPerPrimary), { ...rest, args: nodeArgs })
    const cluster = new RedisCluster(nodes)
    try {
      await assembleCluster(nodes, primaries)
      return cluster
    } catch (error) {
      await cluster.stop()
      throw error
    }
  }

  /** Where a client may begin. */
  get endpoints(): Endpoint[] {
    return this.nodes.map(({ host, port }) => ({ host, port }))
  }

  /** Who owns the slot by the latest news that any running node has. It may be down. */
  async primaryOf(slot: number): Promise<RedisServer> {
    checkSlot(slot)
    return observe(`owner of slot ${slot}`, this.nodes, async () => {
      const views = await Promise.all(running(this.nodes).map(membersSeenBy))
      const [latest] = views
        .flat()
        .filter((member) => owns(member, slot))
        .sort((a, b) => b.epoch - a.epoch)
      return serverAt(this.nodes, latest?.port ?? NaN)
    })
  }

  /** Resolves with the new owner of the slot when all running nodes agree that it is not `former`. */
  async newPrimaryOf(slot: number, former: RedisServer): Promise<RedisServer> {
    checkSlot(slot)
    return observe(`owner of slot ${slot} other than ${former.url}`, this.nodes, async () => {
      // Not of one that is there: who gives a slot away claims it for a moment longer, under the older epoch too.
      if (!former.running) await settleStaleElection(running(this.nodes), slot, former)
      const members = await agreedMembers(running(this.nodes))
      const primary = serverAt(this.nodes, members.find((member) => owns(member, slot))?.port ?? NaN)
      expectState(primary !== former, 'the nodes name the former one')
      return primary
    })
  }

  /** The replicas of `primary` when all running nodes agree; none if it is a replica itself. */
  async replicasOf(primary: RedisServer): Promise<RedisServer[]> {
    checkMember(this.nodes, primary)
    const members = await observe('nodes agree', this.nodes, () => agreedMembers(running(this.nodes)))
    const id = members.find(({ port }) => port === primary.port)?.id
    const replicas = members.filter(({ primaryId }) => primaryId !== undefined && primaryId === id)
    return replicas.map(({ port }) => serverAt(this.nodes, port))
  }

  /** Moves a slot with its keys to the primary `to`; resolves when all running nodes know. */
  async migrateSlot(slot: number, to: RedisServer): Promise<void> {
    const migration = await this.beginMigration(slot, to)
    await migration.moveKeys()
    await migration.finish()
  }

  /** The first step of `migrateSlot`, for what clients meet while a slot is under way. */
  async beginMigration(slot: number, to: RedisServer): Promise<SlotMigration> {
    checkMember(this.nodes, to)
    const from = await this.primaryOf(slot)
    if (from === to) throw new Error(`slot ${slot} belongs to ${to.url} already`)
    const learned = async (): Promise<void> => {
      await this.newPrimaryOf(slot, from)
    }
    return SlotMigration.begin({ slot, from, to }, learned)
  }

  /**
   * Makes `replica` the primary; resolves when all running nodes agree. Without a mode nothing is lost.
   * Do not take turns too fast: Redis 7.0 counts the votes of an election for two node timeouts. A node that
   * won one and became a replica again may, when its primary fails within that time, win by these old votes
   * and be believed by nobody; `newPrimaryOf` settles that.
   */
  async failOver(replica: RedisServer, mode?: FailOverMode): Promise<void> {
    checkMember(this.nodes, replica)
    await replica.command('CLUSTER', 'FAILOVER', ...(mode === undefined ? [] : [mode]))
    await observe(`${replica.url} is a primary`, this.nodes, async () => {
      const members = await agreedMembers(running(this.nodes))
      const own = members.find(({ port }) => port === replica.port)
      expectState(own?.flags[0] === 'master' && own.slots.length > 0, 'it is still a replica')
    })
  }

  /**
   * `primary` loses its replicas and takes no new ones; clients and the cluster bus notice nothing. What is
   * written to it from now on is lost when it is replaced.
   */
  async cutReplication(primary: RedisServer): Promise<void> {
    checkMember(this.nodes, primary)
    await cutLinks(primary)
  }

  /** Ends every cut; resolves when all running replicas are in sync. */
  async healReplication(): Promise<void> {
    await allowLinks(running(this.nodes))
    for (const primary of running(this.nodes)) {
      const replicas = running(await this.replicasOf(primary))
      if (replicas.length > 0) await inSync(primary, replicas)
    }
  }

  /** Ends all nodes and removes their folders. Safe to call again. */
  async stop(): Promise<void> {
    await stopServers(this.nodes)
  }
}

const clusterArgs = (nodeTimeoutMs: number): string[] => [
  ...['--cluster-enabled', 'yes', '--cluster-node-timeout', String(nodeTimeoutMs)],
  ...['--cluster-announce-ip', '127.0.0.1'],
  // A replica that was cut off for long may still be promoted; that is what loses a write.
  ...['--cluster-replica-validity-factor', '0'],
  // Replicas stay with their primary, even when another one has lost its last.
  ...['--cluster-migration-barrier', '1000'],
]

const checkSlot = (slot: number): void => {
  if (Number.isInteger(slot) && slot >= 0 && slot < SLOTS) return
  throw new RangeError(`a slot is a whole number from 0 to ${SLOTS - 1}, not ${slot}`)
}
