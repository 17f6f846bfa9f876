import { errorMonitor } from 'node:events'
import { isNativeError } from 'node:util/types'
import type { PublishCommand } from '../announcement.js'
import type { Messages } from '../messages.js'
import { adviceOnDatabase, refusedIn } from '../database.js'
import { scanArguments, type KeyScan } from '../key-scan.js'
import { PortObserver } from '../port-observer.js'
import type { PortOptions } from '../port-options.js'
import { tell, wordsOf, type Receiver, type RunBy, type ScriptRun } from '../script-run.js'
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
  readonly receiver: Receiver
}

interface Delayed {
  readonly command: Command
  readonly error: unknown
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
  private readonly observer: PortObserver
  private readonly acknowledged = new AcknowledgedConnections(acknowledgedNodeRedis)
  /** Commands whose node is not connected, in the order in which they were sent. */
  private readonly delayed: Delayed[] = []
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
    this.observer = new PortObserver({
      nodes: this.nodes,
      timing: options,
      isErrorReply: isNodeRedisReply,
      publishing: {
        shardedPubSub: options.shardedPubSub,
        ask: () => this.nodes.readyFor(null)?.carrier.sendCommand(['PUBSUB', 'SHARDNUMSUB'], PLAIN) ?? null,
      },
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

  run(run: ScriptRun, by: RunBy, receiver: Receiver): void {
    const [key] = run.keys
    this.send({ slot: key === undefined ? null : this.slotOf(key), args: wordsOf(run, by), receiver })
  }

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
  info(section: string, receiver: Receiver): boolean {
    const node = this.nodes.readyFor(null)
    if (node) {
      tell(receiver, node.carrier.sendCommand(['INFO', section], PLAIN))
    }
    return node !== null
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
    this.delayed.splice(0).forEach(({ command, error }) => command.receiver.failed(error))
    await this.observer.close()
    await this.acknowledged.close()
    this.nodes.close()
  }

  private send(command: Command): void {
    const to = this.nodes.readyFor(command.slot)
    if (to) {
      this.sendOn(to.carrier, command, (error) => this.follow(error, hostOf(to.address), command))
    } else {
      this.sendLater(command, new Error('The primary of the slot is not connected.'))
    }
  }

  /** A command that the break of a connection interrupts is sent again, to the slot's primary then. */
  private sendOn(carrier: OwnCarrier, command: Command, failed: (error: unknown) => void): void {
    const { socketEpoch } = carrier
    const { args, receiver } = command
    carrier.sendCommand(args, PLAIN).then(
      (reply) => receiver.answered(reply),
      (error: unknown) => {
        // A proxy's own words are no reply of Redis, and would be said again at once.
        const wasCut = !carrier.isReady || carrier.socketEpoch !== socketEpoch
        if (wasCut && !isNodeRedisReply(error) && receiver.isWanted()) {
          this.sendLater(command, error)
        } else {
          failed(error)
        }
      },
    )
  }

  /** Follows one redirection; further ones are errors, after which the command is sent again with a pause. */
  private follow(error: unknown, asked: string, command: Command): void {
    const { receiver } = command
    const there = isNodeRedisReply(error) ? redirectionIn(error, asked) : null
    if (there && !there.asks) {
      this.nodes.moved(there.slot, there.address)
    }
    const carrier = there && this.nodes.at(there.address)
    if (!carrier?.isReady || !receiver.isWanted()) {
      receiver.failed(error)
      return
    }
    if (there?.asks) {
      // Back to back: ASKING applies to the next command on its connection.
      carrier.sendCommand(['ASKING'], PLAIN).catch(() => undefined)
    }
    this.sendOn(carrier, command, (failure) => receiver.failed(failure))
  }

  private sendLater(command: Command, error: unknown): void {
    this.delayed.push({ command, error })
    this.settleDelayed()
  }

  private settleDelayed(): void {
    const isOver = this.state === 'ended'
    for (const each of this.delayed.splice(0)) {
      const { command, error } = each
      if (isOver || !command.receiver.isWanted()) {
        command.receiver.failed(error)
      } else if (this.nodes.readyFor(command.slot)) {
        this.send(command)
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
