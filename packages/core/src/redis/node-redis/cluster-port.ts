import { errorMonitor } from 'node:events'
import { isNativeError } from 'node:util/types'
import type { PublishCommand } from '../announcement.js'
import type { Messages } from '../messages.js'
import { ClusterObserver } from '../cluster/observer.js'
import { adviceOnDatabase, refusedIn } from '../database.js'
import { scanArguments, type KeyScan } from '../key-scan.js'
import type { PortOptions } from '../port-options.js'
import type { AcknowledgedConnection, ConnectionState, RedisPort } from '../redis-port.js'
import { acknowledgedNodeRedis } from './acknowledged.js'
import { AcknowledgedConnections } from '../acknowledged-connections.js'
import { isNodeRedisReply, NEVER_OPENED, PLAIN } from './client.js'
import { NodeRedisClusterNodes } from './cluster-nodes.js'
import type { OwnCarrier } from './own-carrier.js'
import { keyPrefixOf, type NodeRedisCluster } from './several.js'
import { hostOf, redirectionIn } from './slots-table.js'

interface Command {
  /** Null: any node may run it. */
  readonly slot: number | null
  readonly args: string[]
  readonly isWanted: () => boolean
}

interface Delayed {
  readonly command: Command
  readonly send: () => void
  readonly reject: () => void
}

/** RedisPort over a node-redis cluster, with a connection of our own to each primary. */
export class NodeRedisClusterPort implements RedisPort {
  connectionEpoch = 0
  readonly isUnreferenced = true
  readonly keyPrefix: string
  readonly messages: Messages
  readonly onStateChange: RedisPort['onStateChange']
  readonly onPrimary: RedisPort['onPrimary']
  trouble: Error | undefined
  private readonly nodes: NodeRedisClusterNodes
  private readonly observer: ClusterObserver
  private readonly acknowledged = new AcknowledgedConnections(acknowledgedNodeRedis)
  /** Commands whose node is not connected, in the order in which they were sent. */
  private delayed: Delayed[] = []
  private wasOpen: boolean

  constructor(
    private readonly cluster: NodeRedisCluster,
    options: PortOptions,
  ) {
    this.keyPrefix = keyPrefixOf(cluster)
    this.wasOpen = cluster.isOpen
    this.nodes = new NodeRedisClusterNodes(cluster, options.background, {
      ready: this.onNode,
      broke: this.onBreak,
    })
    this.observer = new ClusterObserver({
      cluster: this.nodes,
      options,
      askForSharded: () =>
        this.nodes.readyFor(null)?.carrier.sendCommand(['PUBSUB', 'SHARDNUMSUB'], PLAIN) ?? null,
      isErrorReply: isNodeRedisReply,
    })
    this.messages = this.observer.messages
    this.onStateChange = this.observer.onStateChange
    this.onPrimary = this.observer.onPrimary
    this.nodes.onRefreshed(this.onChange)
    cluster.on('connect', this.onOpened)
    cluster.on('disconnect', this.onChange)
    cluster.on(errorMonitor, this.onClusterError)
    this.nodes.refresh()
  }

  get publishCommand(): PublishCommand | null {
    return this.observer.publishCommand
  }

  get refused(): RedisPort['refused'] {
    const { defaults } = this.cluster._options as { readonly defaults?: object }
    return refusedIn(defaults, this.trouble)
  }

  get advice(): string {
    return this.wasOpen ? adviceOnDatabase(this.refused) : NEVER_OPENED
  }

  get state(): ConnectionState {
    if (!this.cluster.isOpen) {
      return this.wasOpen ? 'ended' : 'connecting'
    }
    return this.nodes.isConnected && this.publishCommand ? 'ready' : 'connecting'
  }

  readonly slotOf = (key: string): number => this.nodes.slotOf(key)

  acknowledgedAt(key: string, address?: string): AcknowledgedConnection | null {
    const there = address ?? this.nodes.ownerOf(this.slotOf(key))
    if (there === undefined || address !== undefined) {
      this.observer.lookAround()
    }
    return there === undefined ? null : this.acknowledged.at(there, this.nodes.at(there))
  }

  readonly evalsha: RedisPort['evalsha'] = (sha1, keys, args, isWanted) =>
    this.sendScript(['EVALSHA', sha1], keys, args, isWanted)

  readonly eval: RedisPort['eval'] = (lua, keys, args, isWanted) =>
    this.sendScript(['EVAL', lua], keys, args, isWanted)

  unanswered(key: string | undefined): void {
    this.observer.lookAround()
    const address = key === undefined ? undefined : this.nodes.ownerOf(this.slotOf(key))
    if (address !== undefined) {
      this.observer.suspect(address, this.nodes.at(address))
      this.messages.doubt(address)
    }
    this.acknowledged.forEach((each, there) => this.observer.suspect(there, each))
  }

  /** The answer of one of the primaries. */
  info(section: string): Promise<unknown> | undefined {
    return this.nodes.readyFor(null)?.carrier.sendCommand(['INFO', section], PLAIN)
  }

  /** The answers of every primary. */
  scans(): readonly KeyScan[] {
    return this.nodes
      .primaries()
      .map((address) => this.nodes.at(address))
      .map(
        (carrier): KeyScan =>
          (...step) =>
            carrier.sendCommand(['SCAN', ...scanArguments(...step)], PLAIN),
      )
  }

  isErrorReply(error: unknown): error is Error {
    return isNodeRedisReply(error)
  }

  async close(): Promise<void> {
    this.cluster.off('connect', this.onOpened)
    this.cluster.off('disconnect', this.onChange)
    this.cluster.off(errorMonitor, this.onClusterError)
    this.delayed.splice(0).forEach(({ reject }) => reject())
    await this.observer.close()
    await this.acknowledged.close()
    this.nodes.close()
  }

  private sendScript(
    script: readonly [string, string],
    keys: readonly string[],
    args: readonly string[],
    isWanted: () => boolean,
  ): Promise<unknown> {
    const [key] = keys
    const slot = key === undefined ? null : this.slotOf(key)
    return this.send({ slot, args: [...script, `${keys.length}`, ...keys, ...args], isWanted })
  }

  private send(command: Command): Promise<unknown> {
    const to = this.nodes.readyFor(command.slot)
    if (!to) {
      return this.sendLater(command, new Error('The primary of the slot is not connected.'))
    }
    return this.sendOn(to.carrier, command).catch((error: unknown) =>
      this.follow(error, hostOf(to.address), command),
    )
  }

  /** A command that the break of a connection interrupts is sent again, to the slot's primary then. */
  private sendOn(carrier: OwnCarrier, command: Command): Promise<unknown> {
    const { socketEpoch } = carrier
    return carrier.sendCommand(command.args, PLAIN).catch((error: unknown) => {
      // A proxy's own words are no reply of Redis, and would be said again at once.
      const wasCut = !carrier.isReady || carrier.socketEpoch !== socketEpoch
      if (!wasCut || isNodeRedisReply(error) || !command.isWanted()) {
        throw error
      }
      return this.sendLater(command, error)
    })
  }

  /** Follows one redirection; further ones are errors, after which the command is sent again with a pause. */
  private follow(error: unknown, asked: string, command: Command): Promise<unknown> {
    const there = isNodeRedisReply(error) ? redirectionIn(error, asked) : null
    if (!there) {
      throw error
    }
    if (!there.asks) {
      this.nodes.moved(there.slot, there.address)
    }
    const carrier = this.nodes.at(there.address)
    if (!carrier.isReady || !command.isWanted()) {
      throw error
    }
    if (there.asks) {
      // Back to back: ASKING applies to the next command on its connection.
      carrier.sendCommand(['ASKING'], PLAIN).catch(() => undefined)
    }
    return this.sendOn(carrier, command)
  }

  private sendLater(command: Command, error: unknown): Promise<unknown> {
    const answer = new Promise((resolve, reject) =>
      this.delayed.push({
        command,
        send: () => resolve(this.send(command)),
        reject: () => reject(error),
      }),
    )
    this.settleDelayed()
    return answer
  }

  private settleDelayed(): void {
    const isOver = this.state === 'ended'
    const waiting = this.delayed
    this.delayed = []
    for (const each of waiting) {
      if (isOver || !each.command.isWanted()) {
        each.reject()
      } else if (this.nodes.readyFor(each.command.slot)) {
        each.send()
      } else {
        this.delayed.push(each)
      }
    }
  }

  private readonly onOpened = (): void => {
    this.nodes.refresh()
    this.onChange()
  }

  private readonly onNode = (address: string, carrier: OwnCarrier): void => {
    this.trouble = undefined
    this.observer.nodeReady(address, (section) => carrier.sendCommand(['INFO', section], PLAIN))
    if (!this.nodes.isConnected) {
      this.nodes.refresh()
    }
    this.onChange()
  }

  private readonly onChange = (): void => {
    this.wasOpen ||= this.cluster.isOpen
    // Before waiters send new commands.
    this.settleDelayed()
    this.observer.connected()
    this.observer.tellState()
  }

  /** Commands in flight are about to be rejected, though the node may have run them or still may. */
  private readonly onBreak = (error: unknown): void => {
    this.connectionEpoch += 1
    this.onClusterError(error)
    this.observer.lookAround()
  }

  private readonly onClusterError = (error: unknown): void => {
    this.trouble = isNativeError(error) ? error : undefined
    this.onChange()
  }
}
