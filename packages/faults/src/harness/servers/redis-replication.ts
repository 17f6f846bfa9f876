import { FaultProxy } from '../network/fault-proxy.js'
import type { RedisServer } from './redis-server.js'
import { REPLICATION_ARGS, inSync } from './replication-state.js'
import { checkCount, checkMember, running, startServers, stopServers } from './server-group.js'
import type { TopologyOptions } from './server-group.js'

/** How to start a `RedisReplication`. */
export interface ReplicationOptions extends TopologyOptions {
  /** 1 by default. */
  readonly replicas?: number
}

/** A primary and its replicas, without anybody who watches over them. */
export class RedisReplication {
  /** All servers, whatever they are at the moment. */
  readonly nodes: readonly RedisServer[]
  // Replicas follow a server through its wire only; clients reach it directly.
  readonly #wires = new Map<RedisServer, FaultProxy>()
  #primary: RedisServer
  #cut = false

  private constructor(nodes: readonly RedisServer[], primary: RedisServer) {
    this.nodes = nodes
    this.#primary = primary
  }

  /** Resolves when every replica is linked and in sync; when that fails, nothing is left running. */
  static async start(options: ReplicationOptions = {}): Promise<RedisReplication> {
    const { replicas = 1, args = [], ...rest } = options
    checkCount('replicas', replicas, 1)
    const nodes = await startServers(replicas + 1, { ...rest, args: [...REPLICATION_ARGS, ...args] })
    const replication = new RedisReplication(nodes, nodes[0] as RedisServer)
    try {
      for (const node of nodes) replication.#wires.set(node, await FaultProxy.start(node))
      await replication.healReplication()
      return replication
    } catch (error) {
      await replication.stop()
      throw error
    }
  }

  /** Who takes the writes of clients that know of the last `promote`. */
  get primary(): RedisServer {
    return this.#primary
  }

  /** Every other server, also one that is down or still takes itself for the primary. */
  get replicas(): RedisServer[] {
    return this.nodes.filter((node) => node !== this.#primary)
  }

  /**
   * Makes `replica` the primary, as an operator or a fail-over would. The other servers that run follow it, and
   * this resolves when they are in sync; what only the former primary had is lost then. While replication is
   * cut they do so in `healReplication`, and until then the former primary still takes writes.
   */
  async promote(replica: RedisServer): Promise<void> {
    checkMember(this.nodes, replica)
    await replica.command('REPLICAOF', 'NO', 'ONE')
    this.#primary = replica
    if (!this.#cut) await this.healReplication()
  }

  /** From now on nothing gets from any server to another, and no connection ends: a silent partition. */
  cutReplication(): void {
    this.#cut = true
    for (const wire of this.#wires.values()) wire.blackHole()
  }

  /**
   * Lets replication through again and makes every running server follow the primary; resolves when they are
   * in sync. Also for servers that were restarted or resumed.
   */
  async healReplication(): Promise<void> {
    const followers = running(this.replicas)
    const wire = this.#wires.get(this.#primary)
    if (wire === undefined) throw new Error('this topology was stopped')
    // First of all, so that nobody is given what a former primary wrote during the cut.
    await Promise.all(followers.map((each) => each.command('REPLICAOF', wire.host, wire.port)))
    this.#cut = false
    for (const each of this.#wires.values()) each.pass()
    await inSync(this.#primary, followers)
  }

  /** Ends all servers and removes their folders. Safe to call again. */
  async stop(): Promise<void> {
    await stopServers(this.nodes)
    await Promise.all(Array.from(this.#wires.values(), (wire) => wire.stop()))
    this.#wires.clear()
  }
}
