import { errorMonitor } from 'node:events'
import { controllerOfMany } from '../../events.js'
import { isNodeRedisReply, NEVER_OPENED, PLAIN, probeOf, type Model, type NodeRedisClient } from './client.js'
import { HANGS_AFTER_HANDOFF, onHandoff } from './handoff.js'
import { messageLink } from './message-link.js'
import { acknowledgedNodeRedis } from './acknowledged.js'
import { AcknowledgedConnections } from '../acknowledged-connections.js'
import { ConnectionTrouble } from '../connection-trouble.js'
import { adviceOnDatabase, refusedIn } from '../database.js'
import { isOfReplica } from '../failures.js'
import { scanArguments, type KeyScan } from '../key-scan.js'
import { wordsOf, type Receiver, type RunBy, type ScriptRun } from '../script-run.js'
import type { AcknowledgedConnection, ConnectionState, RedisPort } from '../redis-port.js'
import { HALF_OPEN_NODE_REDIS, HalfOpenWarning } from '../half-open-warning.js'
import type { Messages } from '../messages.js'
import { onlyNode } from '../nodes.js'
import { PortObserver } from '../port-observer.js'
import type { PortTiming } from '../port-options.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { SuspectConnection } from '../silent-connections.js'

const CHANGES = ['connect', 'reconnecting']
// Not 'error': a listener of ours would hide that the user has none, which node-redis demands.
const BREAKS = [errorMonitor, 'end']

/** A command that the last break interrupted. */
interface Cut {
  readonly args: string[]
  readonly receiver: Receiver
  readonly error: unknown
}

/** The connection that commands are sent on: a user's client, or its substitute. */
export interface Carrier
  extends Model, Pick<NodeRedisClient, 'isOpen' | 'isReady' | 'socketEpoch' | 'sendCommand' | 'on' | 'off'> {
  /** Called when it leaves a primary that another server may have replaced. Absent: that is nothing it can know. */
  onLeft?(listener: () => void): () => void
  /** Called when it leads elsewhere: connections made of it before do not. */
  onMoved?(listener: () => void): () => void
  /** The server has answered that it is a replica. */
  demoted?(): void
}

/** A connection that the port opened. */
interface Owned {
  readonly isConnected: boolean
  /** Between two connections. */
  readonly isReplacing?: boolean | undefined
  /** Replaces it by another. */
  drop(): void
  end(): void
}

/** RedisPort over one node-redis client, RESP2 or RESP3. */
export class NodeRedisPort implements RedisPort {
  connectionEpoch = 0
  readonly publishCommand = 'PUBLISH'
  readonly keyPrefix: string
  readonly messages: Messages
  readonly onStateChange: RedisPort['onStateChange']
  readonly onPrimary: RedisPort['onPrimary']
  private readonly acknowledged = new AcknowledgedConnections(acknowledgedNodeRedis)
  private readonly runtime: Runtime
  private readonly troubles: ConnectionTrouble
  private readonly observer: PortObserver
  private readonly suspect: SuspectConnection
  private readonly stopHearing: () => void
  /** Aborts unsent commands, each of which listens, when the connection breaks. */
  private unsent = controllerOfMany()
  /** In the order in which they were sent. */
  private readonly cut: Cut[] = []
  private wasOpen: boolean
  private wasHandedOff = false

  constructor(
    private readonly client: Carrier,
    /** The same client, if `close` ends its connection too. */
    private readonly own: Owned | null,
    timing: PortTiming,
    keyPrefix = (client.options as { keyPrefix?: string | Buffer } | undefined)?.keyPrefix,
  ) {
    this.runtime = timing.background
    this.keyPrefix = keyPrefix?.toString() ?? ''
    this.wasOpen = client.isOpen || client.socketEpoch > 0
    this.suspect = this.suspectOf(client)
    const nodes = onlyNode({
      isPresent: () => client.isReady,
      link: (events) => messageLink('', client, 'PUBLISH', events),
      probe: () => probeOf(client),
    })
    this.observer = new PortObserver({ nodes, timing, isErrorReply: isNodeRedisReply })
    this.messages = this.observer.messages
    this.onStateChange = this.observer.onStateChange
    this.onPrimary = this.observer.onPrimary
    client.onMoved?.(this.onMoved)
    this.stopHearing = onHandoff(client, this.onHandedOff)
    this.troubles = new ConnectionTrouble(client, 'node-redis')
    CHANGES.forEach((event) => client.on(event, this.onChange))
    client.on('ready', this.onReady)
    if (client.isReady) {
      this.onReady()
    }
    BREAKS.forEach((event) => client.on(event, this.onBreak))
  }

  get state(): ConnectionState {
    // While closing, the client is still ready, but accepts no commands.
    if (this.client.isOpen) {
      return this.client.isReady ? 'ready' : 'connecting'
    }
    return this.wasOpen && this.own?.isReplacing !== true ? 'ended' : 'connecting'
  }

  get isUnreferenced(): boolean {
    return this.own !== null
  }

  get trouble(): Error | undefined {
    return this.troubles.latest
  }

  get refused(): RedisPort['refused'] {
    return refusedIn(this.client.options, this.trouble)
  }

  get advice(): string {
    if (this.wasHandedOff && !this.client.isReady) {
      return HANGS_AFTER_HANDOFF
    }
    return this.wasOpen ? adviceOnDatabase(this.refused) : NEVER_OPENED
  }

  onLeft(listener: () => void): () => void {
    return this.client.onLeft?.(listener) ?? (() => undefined)
  }

  unanswered(): void {
    this.observer.suspect('', this.suspect)
    this.acknowledged.forEach((each) => this.observer.suspect('', each))
    this.messages.doubt()
  }

  acknowledgedAt(): Promise<AcknowledgedConnection> {
    return this.acknowledged.beside(this.client)
  }

  run(run: ScriptRun, by: RunBy, receiver: Receiver): void {
    this.send(wordsOf(run, by), receiver)
  }

  /** node-redis writes in a turn of the event loop that it asked for when it was given the command. */
  whenWritten(_key: string, tell: (isWritten: boolean) => void): void {
    this.runtime.afterTurn(() => tell(this.client.isReady))
  }

  info(section: string, receiver: Receiver): boolean {
    const isReady = this.state === 'ready'
    if (isReady) {
      this.send(['INFO', section], receiver)
    }
    return isReady
  }

  scans(): readonly KeyScan[] {
    return [(...step) => this.sendOnce(['SCAN', ...scanArguments(...step)])]
  }

  isErrorReply(error: unknown): error is Error {
    return isNodeRedisReply(error)
  }

  async close(): Promise<void> {
    CHANGES.forEach((event) => this.client.off(event, this.onChange))
    this.client.off('ready', this.onReady)
    BREAKS.forEach((event) => this.client.off(event, this.onBreak))
    this.troubles.close()
    this.cut.splice(0).forEach(({ receiver, error }) => receiver.failed(error))
    this.stopHearing()
    await this.observer.close()
    await this.acknowledged.close()
    this.own?.end()
  }

  /** Resends commands that node-redis rejects because the connection broke, as ioredis does by itself. */
  private send(args: string[], receiver: Receiver): void {
    const epoch = this.connectionEpoch
    const failed = (error: unknown): void => {
      const isReply = this.isErrorReply(error)
      if (isReply && isOfReplica(error)) {
        this.client.demoted?.()
      }
      // 'connecting': a connection of our own refuses what it cannot send at once.
      const isAway = this.connectionEpoch !== epoch || this.state === 'connecting'
      if (isAway && !isReply && receiver.isWanted()) {
        this.cut.push({ args, receiver, error })
        this.settleCut()
      } else {
        receiver.failed(error)
      }
    }
    this.sendOnce(args).then((reply) => receiver.answered(reply), failed)
  }

  private sendOnce(args: string[]): Promise<unknown> {
    return this.client.sendCommand(args, { ...PLAIN, abortSignal: this.unsent.signal })
  }

  private settleCut(): void {
    const { state } = this
    if (state === 'connecting') {
      return
    }
    for (const { args, receiver, error } of this.cut.splice(0)) {
      if (state === 'ready' && receiver.isWanted()) {
        this.send(args, receiver)
      } else {
        receiver.failed(error)
      }
    }
  }

  private suspectOf(client: Carrier): SuspectConnection {
    const { own } = this
    const warning = new HalfOpenWarning(HALF_OPEN_NODE_REDIS)
    const epoch = (): number => this.connectionEpoch
    return {
      get socket() {
        return epoch()
      },
      get isConnected() {
        return own ? own.isConnected : client.isReady && !warning.hasWarned
      },
      ping: () => client.sendCommand(['PING'], PLAIN),
      drop: () => (own ? own.drop() : warning.warn()),
    }
  }

  private readonly onReady = (): void => {
    this.observer.nodeReady('', (section) => this.sendOnce(['INFO', section]))
    this.messages.hurry()
    this.onChange()
  }

  /** Connections that were made of the client before lead to where it was. */
  private readonly onMoved = (): void => {
    this.messages.moveAway()
    void this.acknowledged.close()
  }

  private readonly onHandedOff = (): void => {
    this.wasHandedOff = true
    this.onMoved()
    this.onReady()
  }

  private readonly onChange = (): void => {
    this.wasOpen = true
    // Before waiters send new commands.
    this.settleCut()
    this.observer.tellState()
  }

  /**
   * Commands in flight are about to be rejected, though the server may have run them or still may. Unwritten commands
   * are kept by node-redis, which would send them on the next connection even if their callers have given up.
   */
  private readonly onBreak = (): void => {
    this.connectionEpoch += 1
    const { unsent } = this
    this.unsent = controllerOfMany()
    unsent.abort()
    this.onChange()
  }
}
