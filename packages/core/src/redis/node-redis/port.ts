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
import { Listeners } from '../listeners.js'
import { PrimaryIdentity } from '../primary-identity.js'
import type { AcknowledgedConnection, ConnectionState, PrimaryListener, RedisPort } from '../redis-port.js'
import { HALF_OPEN_NODE_REDIS, HalfOpenWarning } from '../half-open-warning.js'
import { onlyNode } from '../message-links.js'
import { Messages } from '../messages.js'
import type { PortTiming } from '../port-options.js'
import type { Runtime } from '../../runtime/runtime.js'
import { SilentConnections, type SuspectConnection } from '../silent-connections.js'

const CHANGES = ['connect', 'reconnecting']
// Not 'error': a listener of ours would hide that the user has none, which node-redis demands.
const BREAKS = [errorMonitor, 'end']

interface Cut {
  readonly sendAgain: () => void
  readonly reject: () => void
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

type RunScript = (...run: Parameters<RedisPort['evalsha']>) => Promise<unknown>

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
  private readonly listeners = new Listeners()
  private readonly primaryListeners = new Listeners<Parameters<PrimaryListener>>()
  private readonly identity = new PrimaryIdentity((error) => this.isErrorReply(error))
  private readonly acknowledged = new AcknowledgedConnections(acknowledgedNodeRedis)
  private readonly runtime: Runtime
  private readonly troubles: ConnectionTrouble
  private readonly silent: SilentConnections
  private readonly suspect: SuspectConnection
  private readonly stopHearing: () => void
  /** Aborts unsent commands, each of which listens, when the connection breaks. */
  private unsent = controllerOfMany()
  /** Commands that the last break interrupted, in the order in which they were sent. */
  private readonly cut: Cut[] = []
  private wasOpen: boolean
  private wasHandedOff = false

  constructor(
    private readonly client: Carrier,
    /** The same client, if `close` ends its connection too. */
    private readonly own: Owned | null,
    { background: runtime, commandTimeout: timeoutMs }: PortTiming,
    keyPrefix = (client.options as { keyPrefix?: string | Buffer } | undefined)?.keyPrefix,
  ) {
    this.runtime = runtime
    this.keyPrefix = keyPrefix?.toString() ?? ''
    this.wasOpen = client.isOpen || client.socketEpoch > 0
    this.silent = new SilentConnections({ runtime, timeoutMs, dial: () => probeOf(client) })
    this.suspect = this.suspectOf(client)
    this.messages = new Messages({
      nodes: onlyNode(
        () => client.isReady,
        (events) => messageLink('', client, 'PUBLISH', events),
      ),
      runtime,
      timeoutMs,
      publishCommand: () => this.publishCommand,
      isErrorReply: isNodeRedisReply,
      silent: (link) => this.silent.suspect(link),
    })
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

  onStateChange(listener: () => void): () => void {
    return this.listeners.add(listener)
  }

  onPrimary(listener: PrimaryListener): () => void {
    return this.primaryListeners.add(listener)
  }

  onLeft(listener: () => void): () => void {
    return this.client.onLeft?.(listener) ?? (() => undefined)
  }

  unanswered(): void {
    this.silent.suspect(this.suspect)
    this.acknowledged.forEach((each) => this.silent.suspect(each))
    this.messages.doubt()
  }

  acknowledgedAt(): Promise<AcknowledgedConnection> {
    return this.acknowledged.beside(this.client)
  }

  readonly evalsha: RunScript = (sha1, keys, args, isWanted) =>
    this.send(['EVALSHA', sha1, `${keys.length}`, ...keys, ...args], isWanted)

  readonly eval: RunScript = (lua, keys, args, isWanted) =>
    this.send(['EVAL', lua, `${keys.length}`, ...keys, ...args], isWanted)

  /** node-redis writes in a turn of the event loop that it asked for when it was given the command. */
  whenWritten(_key: string, tell: (isWritten: boolean) => void): void {
    this.runtime.afterTurn(() => tell(this.client.isReady))
  }

  info(section: string): Promise<unknown> | undefined {
    return this.state === 'ready' ? this.send(['INFO', section], () => false) : undefined
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
    this.listeners.clear()
    this.cut.splice(0).forEach(({ reject }) => reject())
    this.primaryListeners.clear()
    this.stopHearing()
    this.silent.close()
    await this.acknowledged.close()
    await this.messages.close()
    this.own?.end()
  }

  /** Resends commands that node-redis rejects because the connection broke, as ioredis does by itself. */
  private send(args: string[], isWanted: () => boolean): Promise<unknown> {
    const epoch = this.connectionEpoch
    return this.sendOnce(args).catch((error: unknown) => {
      if (this.isErrorReply(error) && isOfReplica(error)) {
        this.client.demoted?.()
      }
      // 'connecting': a connection of our own refuses what it cannot send at once.
      const isAway = this.connectionEpoch !== epoch || this.state === 'connecting'
      const wasCut = isAway && !this.isErrorReply(error)
      if (!wasCut || !isWanted()) {
        throw error
      }
      return new Promise((resolve, reject) => {
        const sendAgain = (): void => (isWanted() ? resolve(this.send(args, isWanted)) : reject(error))
        this.cut.push({ sendAgain, reject: () => reject(error) })
        this.settleCut()
      })
    })
  }

  private sendOnce(args: string[]): Promise<unknown> {
    return this.client.sendCommand(args, { ...PLAIN, abortSignal: this.unsent.signal })
  }

  private settleCut(): void {
    const { state } = this
    if (state === 'ready') {
      this.cut.splice(0).forEach(({ sendAgain }) => sendAgain())
    } else if (state === 'ended') {
      this.cut.splice(0).forEach(({ reject }) => reject())
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
    const verdict = this.identity.verdict((section) => this.sendOnce(['INFO', section]))
    this.primaryListeners.tell(verdict)
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
    this.listeners.tell()
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
