import type { RedisServer } from './redis-server.js'
import type { Endpoint } from '../network/round-trip.js'
import { expectState, observe } from './observe.js'
import { CUTTABLE_ARGS, REPLICATION_ARGS, allowLinks, cutLinks } from './replication-state.js'
import { inSync, replicationInfo } from './replication-state.js'
import { agreedPrimaryPort, expectWholeGroup, monitor } from './sentinel-state.js'
import { checkCount, running, serverAt, startServers, stopServers } from './server-group.js'
import type { TopologyOptions } from './server-group.js'

/** How to start a `RedisSentinels`. */
export interface SentinelOptions extends TopologyOptions {
  /** 2 by default. */
  readonly replicas?: number
  /** 3 by default; more than half of them decide. */
  readonly sentinels?: number
  /** How long a server may be silent before a sentinel takes it for down, in ms; 2000 by default. */
  readonly downAfterMs?: number
}

/** A primary, its replicas, and sentinels that watch over them. Needs Redis 6 or later. */
export class RedisSentinels {
  /** The name of the group, for clients. */
  readonly name = 'holdfast'
  /** The data servers, whatever they are at the moment. */
  readonly nodes: readonly RedisServer[]
  readonly sentinels: readonly RedisServer[]

  private constructor(nodes: readonly RedisServer[], sentinels: readonly RedisServer[]) {
    this.nodes = nodes
    this.sentinels = sentinels
  }

  /** Resolves when every sentinel knows all others and all replicas; when that fails, nothing is left. */
  static async start(options: SentinelOptions = {}): Promise<RedisSentinels> {
    const { replicas = 2, sentinels = 3, downAfterMs = 2_000, args = [], ...rest } = options
    checkCount('replicas', replicas, 1)
    checkCount('sentinels', sentinels, 1)
    checkCount('downAfterMs', downAfterMs, 1)
    const nodeArgs = [...REPLICATION_ARGS, ...CUTTABLE_ARGS, ...args]
    const nodes = await startServers(replicas + 1, { ...rest, args: nodeArgs })
    let group = new RedisSentinels(nodes, [])
    try {
      group = new RedisSentinels(nodes, await startServers(sentinels, { ...rest, sentinel: true }))
      await group.#assemble(downAfterMs)
      return group
    } catch (error) {
      await group.stop()
      throw error
    }
  }

  /** Where a client finds the sentinels. */
  get endpoints(): Endpoint[] {
    return this.sentinels.map(({ host, port }) => ({ host, port }))
  }

  /** The primary that all running sentinels name; waits until they agree. */
  primary(): Promise<RedisServer> {
    return observe('sentinels agree', this.#all, () => this.#agreed())
  }

  /** Resolves with the new primary when all running sentinels name one other than `former`. */
  newPrimary(former: RedisServer): Promise<RedisServer> {
    return observe(`a primary other than ${former.url}`, this.#all, async () => {
      const primary = await this.#agreed()
      expectState(primary !== former, 'the sentinels name the former one')
      const role = (await replicationInfo(primary)).get('role')
      expectState(role === 'master', `${primary.url} is a ${String(role)}`)
      return primary
    })
  }

  /** Makes the sentinels replace a healthy primary. Resolves with the new one when all running ones name it. */
  async failOver(): Promise<RedisServer> {
    const former = await this.primary()
    await observe('a fail-over begins', this.#all, async () => {
      // An earlier attempt may have been accepted although its reply was lost.
      if ((await this.#agreed()) !== former) return
      const [sentinel] = running(this.sentinels)
      // Refused while another fail-over is not over, or no replica is fit.
      await sentinel?.command('SENTINEL', 'FAILOVER', this.name)
    })
    return this.newPrimary(former)
  }

  /**
   * The present primary loses its replicas and takes no new ones; clients and sentinels notice nothing. What is
   * written from now on is lost in a fail-over. Sentinels pass over replicas that were cut off for more than
   * ten times `downAfterMs`.
   */
  async cutReplication(): Promise<void> {
    await cutLinks(await this.primary())
  }

  /** Ends the cut; resolves when all running servers are in sync with the primary. */
  async healReplication(): Promise<void> {
    await allowLinks(running(this.nodes))
    const primary = await this.primary()
    await inSync(
      primary,
      running(this.nodes).filter((node) => node !== primary),
    )
  }

  /**
   * Resolves when every running sentinel has been told by each running server that it is the primary, or a linked replica.
   * A fail-over that begins earlier may come to nothing: a sentinel that knows the chosen server as a primary of before
   * makes it a replica again.
   */
  settle(): Promise<void> {
    const whole = { replicas: running(this.nodes).length - 1, others: running(this.sentinels).length - 1 }
    return observe('sentinels see all roles', this.#all, async () => {
      await this.#agreed()
      for (const sentinel of running(this.sentinels)) await expectWholeGroup(sentinel, this.name, whole)
    })
  }

  /** Ends all servers and removes their folders. Safe to call again. */
  async stop(): Promise<void> {
    // Sentinels first: they would start a fail-over between servers that are about to end.
    await stopServers(this.sentinels)
    await stopServers(this.nodes)
  }

  get #all(): RedisServer[] {
    return [...this.sentinels, ...this.nodes]
  }

  async #agreed(): Promise<RedisServer> {
    return serverAt(this.nodes, await agreedPrimaryPort(running(this.sentinels), this.name))
  }

  async #assemble(downAfterMs: number): Promise<void> {
    const [primary, ...replicas] = this.nodes
    if (primary === undefined) return
    await Promise.all(replicas.map((each) => each.command('REPLICAOF', primary.host, primary.port)))
    await inSync(primary, replicas)
    const quorum = Math.floor(this.sentinels.length / 2) + 1
    const watched = { name: this.name, primary, quorum, downAfterMs }
    await Promise.all(this.sentinels.map((sentinel) => monitor(sentinel, watched)))
    const whole = { replicas: replicas.length, others: this.sentinels.length - 1 }
    await observe('sentinels know the group', this.#all, async () => {
      for (const sentinel of this.sentinels) await expectWholeGroup(sentinel, this.name, whole)
    })
  }
}
