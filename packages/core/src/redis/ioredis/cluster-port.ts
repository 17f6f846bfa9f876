import { isEndOfRedirections } from '../failures.js'
import type { PublishCommand } from '../announcement.js'
import type { Messages } from '../messages.js'
import { nodeKey, primaryAt, type IoredisCluster, type IoredisNode } from './cluster.js'
import { IoredisClusterView } from './cluster-view.js'
import { ConnectionTrouble } from '../connection-trouble.js'
import { HALF_OPEN_IOREDIS, HalfOpenWarning } from '../half-open-warning.js'
import { suspectOf } from './own-ioredis.js'
import { scriptSending, type ScriptSending } from './script-sending.js'
import { whenWritten } from './written.js'
import type { Runtime } from '../../runtime/runtime.js'
import { ignore, isReplyError, plainSender } from './sender.js'
import { acknowledgedIoredis } from './acknowledged.js'
import { AcknowledgedConnections } from '../acknowledged-connections.js'
import { SelectedDatabase } from './selected-database.js'
import { adviceOnDatabase } from '../database.js'
import type { KeyScan } from '../key-scan.js'
import { PortObserver } from '../port-observer.js'
import type { PortOptions } from '../port-options.js'
import type { Receiver } from '../script-run.js'
import type { AcknowledgedConnection, ConnectionState, RedisPort } from '../redis-port.js'

/** RedisPort over an ioredis Cluster, which follows MOVED and ASK; the rest is done here. */
export class IoredisClusterPort implements RedisPort {
  connectionEpoch = 0
  readonly keyPrefix: string
  readonly messages: Messages
  readonly onStateChange: RedisPort['onStateChange']
  readonly onPrimary: RedisPort['onPrimary']
  readonly run: RedisPort['run']
  private readonly sending: ScriptSending
  private readonly view: IoredisClusterView
  private readonly observer: PortObserver
  private readonly acknowledged = new AcknowledgedConnections(acknowledgedIoredis)
  private readonly troubles: ConnectionTrouble
  private readonly database: SelectedDatabase
  private readonly runtime: Runtime
  private readonly nodes = new Map<IoredisNode, () => void>()
  private readonly warning = new HalfOpenWarning(HALF_OPEN_IOREDIS)

  constructor(
    private readonly cluster: IoredisCluster,
    options: PortOptions,
  ) {
    this.keyPrefix = cluster.options.keyPrefix ?? ''
    this.runtime = options.background
    this.sending = scriptSending(cluster, plainSender(cluster))
    this.run = this.sending.run
    this.view = new IoredisClusterView(cluster)
    this.observer = new PortObserver({
      nodes: this.view,
      timing: options,
      isErrorReply: isReplyError,
      publishing: {
        shardedPubSub: options.shardedPubSub,
        ask: () => cluster.nodes('master')[0]?.pubsub('SHARDNUMSUB') ?? null,
      },
    })
    this.messages = this.observer.messages
    this.onStateChange = this.observer.onStateChange
    this.onPrimary = this.observer.onPrimary
    this.troubles = new ConnectionTrouble(cluster, 'ioredis', () => this.observer.tellState())
    const select = async (database: number) => cluster.nodes('master')[0]?.select?.(database)
    const wanted = cluster.options.redisOptions?.db
    this.database = new SelectedDatabase({ wanted, select }, options.background, this.onChange)
    cluster.on('+node', this.onNode)
    cluster.on('-node', this.onNodeGone)
    cluster.on('close', this.onBreak)
    cluster.on('ready', this.onReady)
    cluster.on('end', this.onChange)
    cluster.nodes('all').forEach(this.onNode)
    if (cluster.status === 'ready') {
      this.onReady()
    }
  }

  get publishCommand(): PublishCommand | null {
    return this.observer.publishCommand
  }

  get trouble(): Error | undefined {
    return this.database.refusal?.error ?? this.troubles.latest
  }

  get refused(): RedisPort['refused'] {
    return this.database.refusal?.database
  }

  get advice(): string {
    return adviceOnDatabase(this.refused)
  }

  get state(): ConnectionState {
    const { status } = this.cluster
    if (status === 'ready') {
      return this.publishCommand && this.database.isConfirmed ? 'ready' : 'connecting'
    }
    if (status === 'wait') {
      // lazyConnect: only this call opens the connection. Its result arrives as events.
      this.cluster.connect().catch(ignore)
    }
    return status === 'end' ? 'ended' : 'connecting'
  }

  readonly slotOf = (key: string): number => this.view.slotOf(key)

  readonly nodeOf = (key: string): string | undefined => this.view.ownerOf(this.slotOf(key))

  acknowledgedAt(key: string, address?: string): AcknowledgedConnection | null {
    const node = primaryAt(this.cluster, address ?? this.nodeOf(key))
    if (!node || address !== undefined) {
      // A Cluster learns from refusals of its own commands where slots are; it does not see those of these connections.
      this.observer.lookAround()
    }
    return node ? this.acknowledged.at(nodeKey(node), node) : null
  }

  unanswered(key: string | undefined): void {
    this.observer.lookAround()
    const node = key === undefined ? undefined : primaryAt(this.cluster, this.nodeOf(key))
    if (node) {
      this.observer.suspect(nodeKey(node), suspectOf(node, this.warning))
      this.messages.doubt(nodeKey(node))
    }
    this.acknowledged.forEach((each, address) => this.observer.suspect(address, each))
  }

  whenWritten(key: string, tell: (isWritten: boolean) => void): void {
    const node = primaryAt(this.cluster, this.nodeOf(key))
    whenWritten(this.sending.isLate ? undefined : node, this.runtime, tell)
  }

  /** The answer of one of the primaries. */
  info(section: string, receiver: Receiver): boolean {
    const node = this.cluster.status === 'ready' ? this.cluster.nodes('master')[0] : undefined
    return node !== undefined && this.sending.info(section, receiver, node)
  }

  /** The answers of every primary. */
  scans(): readonly KeyScan[] {
    return this.cluster.nodes('master').map((node) => plainSender(node).scan)
  }

  isErrorReply(error: unknown): error is Error {
    return isReplyError(error) || isEndOfRedirections(error)
  }

  async close(): Promise<void> {
    this.cluster.off('+node', this.onNode)
    this.cluster.off('-node', this.onNodeGone)
    this.cluster.off('close', this.onBreak)
    this.cluster.off('ready', this.onReady)
    this.cluster.off('end', this.onChange)
    this.nodes.forEach((forget) => forget())
    this.troubles.close()
    this.database.left()
    await this.observer.close()
    await this.acknowledged.close()
  }

  /** Its nodes are configured alike: what one of them says of the database is true of all. */
  private readonly onReady = (): void => {
    this.database.ask()
    this.onChange()
  }

  private readonly onChange = (): void => {
    if (this.cluster.status === 'ready') {
      this.observer.connected()
    }
    this.observer.tellState()
  }

  private readonly onNode = (node: IoredisNode): void => {
    const onReady = (): void => this.observer.nodeReady(nodeKey(node), (section) => node.info(section))
    node.on('close', this.onBreak)
    node.on('ready', onReady)
    this.nodes.set(node, () => {
      this.nodes.delete(node)
      node.off('close', this.onBreak)
      node.off('ready', onReady)
    })
    if (node.status === 'ready') {
      onReady()
    }
  }

  private readonly onNodeGone = (node: IoredisNode): void => {
    this.nodes.get(node)?.()
    this.observer.lookAround()
    this.onBreak()
  }

  /** ioredis resends commands in flight to the slot's current primary; the first copy may have run. */
  private readonly onBreak = (): void => {
    this.connectionEpoch += 1
    this.observer.tellState()
  }
}
