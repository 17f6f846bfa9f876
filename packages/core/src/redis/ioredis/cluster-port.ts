import { isEndOfRedirections, QUEUED } from '../failures.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { PublishCommand } from '../announcement.js'
import { nodeKey, ownerOf, primaryAt, type IoredisCluster, type IoredisNode } from './cluster.js'
import { IoredisClusterMessages } from './cluster-messages.js'
import { ConnectionTrouble } from '../connection-trouble.js'
import { ignore, isReplyError, plainSender, type Sender } from './sender.js'
import { IoredisAcknowledged } from './acknowledged.js'
import { ClusterPrimaries } from './cluster-primaries.js'
import { hashSlot } from '../hash-slot.js'
import type { KeyScan } from '../key-scan.js'
import { Listeners } from '../listeners.js'
import type { AcknowledgedConnection, ConnectionState, PrimaryListener, RedisPort } from '../redis-port.js'

const ASK_AGAIN_MS = 200

export interface PortOptions {
  readonly shardedPubSub: 'auto' | 'on' | 'off'
  /** Its timers do not keep the process alive. */
  readonly background: Runtime
}

/** RedisPort over an ioredis Cluster, which follows MOVED and ASK; the rest is done here. */
export class IoredisClusterPort implements RedisPort {
  connectionEpoch = 0
  readonly advice = ''
  publishCommand: PublishCommand | null = null
  readonly keyPrefix: string
  readonly messages: IoredisClusterMessages
  private readonly runtime: Runtime
  private readonly sender: Sender
  private readonly acknowledged = new IoredisAcknowledged(() => this.primaries.lookAround())
  private readonly listeners = new Listeners()
  private readonly primaryListeners = new Listeners<Parameters<PrimaryListener>>()
  private readonly primaries: ClusterPrimaries
  private readonly troubles: ConnectionTrouble
  private readonly nodes = new Map<IoredisNode, () => void>()
  private isAsking = false
  private askAgain: { cancel(): void } | null = null
  private closed = false

  constructor(
    private readonly cluster: IoredisCluster,
    { shardedPubSub, background }: PortOptions,
  ) {
    this.runtime = background
    this.keyPrefix = cluster.options.keyPrefix ?? ''
    this.sender = plainSender(cluster)
    const { slotOf } = this
    this.messages = new IoredisClusterMessages({
      cluster,
      slotOf,
      runtime: background,
      publishCommand: () => this.publishCommand,
    })
    this.primaries = new ClusterPrimaries(background, cluster, slotOf, (verdict) =>
      this.primaryListeners.tell(verdict),
    )
    this.troubles = new ConnectionTrouble(cluster, 'ioredis', () => this.listeners.tell())
    cluster.on('+node', this.onNode)
    cluster.on('-node', this.onNodeGone)
    cluster.on('close', this.onBreak)
    cluster.on('ready', this.onChange)
    cluster.on('end', this.onChange)
    cluster.nodes('all').forEach(this.onNode)
    if (shardedPubSub !== 'auto') {
      this.publishCommand = shardedPubSub === 'on' ? 'SPUBLISH' : 'PUBLISH'
    }
    this.onChange()
  }

  get trouble(): Error | undefined {
    return this.troubles.latest
  }

  get state(): ConnectionState {
    const { status } = this.cluster
    if (status === 'ready') {
      return this.publishCommand ? 'ready' : 'connecting'
    }
    if (status === 'wait') {
      // lazyConnect: only this call opens the connection. Its result arrives as events.
      this.cluster.connect().catch(ignore)
    }
    return status === 'end' ? 'ended' : 'connecting'
  }

  onStateChange(listener: () => void): () => void {
    return this.listeners.add(listener)
  }

  readonly slotOf = (key: string): number => hashSlot(key)

  onPrimary(listener: PrimaryListener): () => void {
    return this.primaryListeners.add(listener)
  }

  acknowledgedAt(key: string, place?: string): AcknowledgedConnection | null {
    const node = primaryAt(this.cluster, place ?? ownerOf(this.cluster, this.slotOf(key)))
    if (!node) {
      this.primaries.lookAround()
    }
    return node ? this.acknowledged.at(nodeKey(node), node) : null
  }

  evalsha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.sender.evalsha(sha1, keys.length, ...keys, ...args)
  }

  eval(lua: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.sender.eval(lua, keys.length, ...keys, ...args)
  }

  unanswered(): void {
    this.primaries.lookAround()
  }

  /** Of one of the primaries. */
  info(section: string): Promise<unknown> | undefined {
    return this.cluster.status === 'ready' ? this.cluster.nodes('master')[0]?.info(section) : undefined
  }

  /** Of every primary. */
  scans(): readonly KeyScan[] {
    return this.cluster.nodes('master').map((node) => plainSender(node).scan)
  }

  isErrorReply(error: unknown): error is Error {
    return isReplyError(error) || isEndOfRedirections(error)
  }

  async close(): Promise<void> {
    this.closed = true
    this.askAgain?.cancel()
    this.cluster.off('+node', this.onNode)
    this.cluster.off('-node', this.onNodeGone)
    this.cluster.off('close', this.onBreak)
    this.cluster.off('ready', this.onChange)
    this.cluster.off('end', this.onChange)
    this.nodes.forEach((forget) => forget())
    this.troubles.close()
    this.primaries.close()
    this.listeners.clear()
    this.primaryListeners.clear()
    await this.messages.close()
    await this.acknowledged.close()
  }

  private readonly onChange = (): void => {
    if (!this.publishCommand && this.cluster.status === 'ready') {
      void this.askForSharded()
    }
    this.listeners.tell()
  }

  private readonly onNode = (node: IoredisNode): void => {
    const onReady = (): void => this.primaries.ask(node)
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
    this.primaries.lookAround()
    this.onBreak()
  }

  /** ioredis resends commands in flight to the slot's current primary; the first copy may have run. */
  private readonly onBreak = (): void => {
    this.connectionEpoch += 1
    this.listeners.tell()
  }

  /** Redisson's test, so that both sides decide alike: whether a node knows PUBSUB SHARDNUMSUB. */
  private async askForSharded(): Promise<void> {
    const [node] = this.cluster.nodes('master')
    if (!node || this.isAsking) {
      return
    }
    this.isAsking = true
    const answer = await node.pubsub('SHARDNUMSUB').then(
      // In the application's transaction on that connection, any command is queued, known or not.
      (reply) => (reply === QUEUED ? null : ('SPUBLISH' as const)),
      (error: unknown) => (isReplyError(error) ? 'PUBLISH' : null),
    )
    this.isAsking = false
    this.publishCommand = answer
    if (answer) {
      this.messages.follow()
      this.listeners.tell()
    } else if (!this.closed) {
      this.askAgain = this.runtime.setTimer(ASK_AGAIN_MS, this.onChange)
    }
  }
}
