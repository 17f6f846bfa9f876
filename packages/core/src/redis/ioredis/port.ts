import { endConnection, unreferenced, wasEndedBySwitch, type IoredisClient } from './client.js'
import { probeOf, suspectOf } from './own-ioredis.js'
import { ignore, isReplyError, plainSender, type Sender } from './sender.js'
import { scriptSending, type ScriptSending } from './script-sending.js'
import { whenWritten } from './written.js'
import type { Runtime } from '../../runtime/runtime.js'
import { ConnectionTrouble } from '../connection-trouble.js'
import { IoredisMessageLink } from './message-link.js'
import { acknowledgedIoredis } from './acknowledged.js'
import { AcknowledgedConnections } from '../acknowledged-connections.js'
import { SelectedDatabase } from './selected-database.js'
import { adviceOnDatabase } from '../database.js'
import type { KeyScan } from '../key-scan.js'
import { Listeners } from '../listeners.js'
import type { Receiver } from '../script-run.js'
import type { AcknowledgedConnection, ConnectionState, RedisPort } from '../redis-port.js'
import { HALF_OPEN_IOREDIS, HalfOpenWarning } from '../half-open-warning.js'
import type { Messages } from '../messages.js'
import { onlyNode } from '../nodes.js'
import { PortObserver } from '../port-observer.js'
import type { PortTiming } from '../port-options.js'
import type { SuspectConnection } from '../silent-connections.js'

/** `select()` by the application changes it, and is made again on the next connection. */
function databaseOf(client: IoredisClient) {
  return {
    get wanted() {
      return client.condition?.select ?? client.options.db
    },
    select: async (database: number) => client.select?.(database),
  }
}

/** RedisPort over one ioredis connection, standalone or behind Sentinel. */
export class IoredisPort implements RedisPort {
  connectionEpoch = 0
  readonly publishCommand = 'PUBLISH'
  readonly keyPrefix: string
  readonly messages: Messages
  readonly onStateChange: RedisPort['onStateChange']
  readonly onPrimary: RedisPort['onPrimary']
  readonly run: RedisPort['run']
  private readonly sender: Sender
  private readonly sending: ScriptSending
  private readonly acknowledged = new AcknowledgedConnections(acknowledgedIoredis)
  private readonly leftListeners = new Listeners()
  private hasLeft = false
  private readonly troubles: ConnectionTrouble
  private readonly observer: PortObserver
  private readonly suspect: SuspectConnection
  private readonly database: SelectedDatabase
  private readonly runtime: Runtime

  constructor(
    private readonly client: IoredisClient,
    /** Whether `close` ends the connection too. */
    private readonly ownsClient: boolean,
    timing: PortTiming,
  ) {
    this.keyPrefix = client.options.keyPrefix ?? ''
    this.runtime = timing.background
    this.sender = plainSender(client)
    this.database = new SelectedDatabase(databaseOf(client), timing.background, this.onChange)
    this.sending = scriptSending(client, this.sender, this.database)
    this.run = this.sending.run
    this.suspect = suspectOf(client, ownsClient ? null : new HalfOpenWarning(HALF_OPEN_IOREDIS))
    const nodes = onlyNode({
      isPresent: () => client.status === 'ready',
      link: (events) => new IoredisMessageLink('', client, 'PUBLISH', events),
      probe: () => probeOf(client),
    })
    this.observer = new PortObserver({ nodes, timing, isErrorReply: isReplyError })
    this.messages = this.observer.messages
    this.onStateChange = this.observer.onStateChange
    this.onPrimary = this.observer.onPrimary
    this.troubles = new ConnectionTrouble(client, 'ioredis', () => {
      this.database.heard(this.troubles.latest)
      this.onChange()
    })
    client.on('connect', this.onConnect)
    client.on('close', this.onClose)
    client.on('ready', this.onReady)
    client.on('end', this.onEnd)
    if (client.status === 'ready') {
      this.onConnect()
      this.onReady()
    }
    if (ownsClient) {
      unreferenced(client)
      client.on('error', ignore)
    }
  }

  get isUnreferenced(): boolean {
    return this.ownsClient
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
    const { status } = this.client
    if (status === 'ready') {
      return this.database.isConfirmed ? 'ready' : 'connecting'
    }
    if (status === 'wait') {
      // lazyConnect: only this call opens the connection. Its result arrives as events.
      this.client.connect().catch(ignore)
    }
    return status === 'end' ? 'ended' : 'connecting'
  }

  onLeft(listener: () => void): () => void {
    return this.leftListeners.add(listener)
  }

  unanswered(): void {
    this.observer.suspect('', this.suspect)
    this.acknowledged.forEach((each) => this.observer.suspect('', each))
    this.messages.doubt()
  }

  acknowledgedAt(): Promise<AcknowledgedConnection> {
    return this.acknowledged.beside(this.client)
  }

  inOneWrite(send: () => void): void {
    const { stream } = this.client
    stream?.cork?.()
    try {
      send()
    } finally {
      stream?.uncork?.()
    }
  }

  whenWritten(_key: string, tell: (isWritten: boolean) => void): void {
    whenWritten(this.sending.isLate ? undefined : this.client, this.runtime, tell)
  }

  info(section: string, receiver: Receiver): boolean {
    return this.client.status === 'ready' && this.sending.info(section, receiver)
  }

  scans(): readonly KeyScan[] {
    return [this.sender.scan]
  }

  isErrorReply(error: unknown): error is Error {
    return isReplyError(error)
  }

  async close(): Promise<void> {
    this.client.off('connect', this.onConnect)
    this.client.off('close', this.onClose)
    this.client.off('ready', this.onReady)
    this.client.off('end', this.onEnd)
    this.leftListeners.clear()
    this.troubles.close()
    this.database.left()
    await this.observer.close()
    await this.acknowledged.close()
    if (this.ownsClient) {
      await endConnection(this.client)
    }
  }

  /**
   * ioredis's failoverDetector ends the socket on its side, and its end comes when the former primary has answered that,
   * or after `disconnectTimeout`: until then nothing else would tell.
   */
  private readonly onConnect = (): void => {
    this.hasLeft = false
    if (this.client.options.sentinels) {
      this.client.stream?.on('finish', this.onLeaving)
    }
  }

  private readonly onLeaving = (): void => {
    if (!this.hasLeft) {
      this.hasLeft = true
      this.leftListeners.tell()
    }
  }

  private readonly onReady = (): void => {
    this.observer.nodeReady('', async (section) => this.sender.info(section))
    this.database.ask()
    this.messages.hurry()
    this.onChange()
  }

  private readonly onChange = (): void => {
    this.observer.tellState()
  }

  private readonly onEnd = (): void => {
    if (wasEndedBySwitch(this.client, this.troubles.latest)) {
      this.client.connect().catch(ignore)
    }
    this.onChange()
  }

  /** ioredis resends commands in flight after the reconnect; the first copy may have run, or may still run. */
  private readonly onClose = (): void => {
    this.connectionEpoch += 1
    this.database.left()
    if (this.client.options.sentinels) {
      this.onLeaving()
    }
    this.onChange()
  }
}
