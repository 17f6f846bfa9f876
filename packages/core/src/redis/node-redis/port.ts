import { errorMonitor, setMaxListeners } from 'node:events'
import type { NodeRedisClient, OwnNodeRedis } from './client.js'
import { NodeRedisMessages } from './messages.js'
import { NodeRedisAcknowledged } from './acknowledged.js'
import { ConnectionTrouble } from '../connection-trouble.js'
import { isInWordsOfRedis } from '../failures.js'
import { scanArguments, type KeyScan } from '../key-scan.js'
import { Listeners } from '../listeners.js'
import { PrimaryIdentity } from '../primary-identity.js'
import type { AcknowledgedConnection, ConnectionState, PrimaryListener, RedisPort } from '../redis-port.js'
import type { Runtime } from '../../runtime/runtime.js'
import { Subscriptions } from '../subscriptions.js'

const CHANGES = ['connect', 'reconnecting']
// Not 'error': a listener of ours would hide that the user has none, which node-redis demands.
const BREAKS = [errorMonitor, 'end']

interface Cut {
  readonly sendAgain: () => void
  readonly reject: () => void
}

/** RedisPort over one node-redis client, RESP2 or RESP3. */
export class NodeRedisPort implements RedisPort {
  connectionEpoch = 0
  readonly publishCommand = 'PUBLISH'
  readonly keyPrefix: string
  readonly messages: Subscriptions
  private readonly listeners = new Listeners()
  private readonly primaryListeners = new Listeners<Parameters<PrimaryListener>>()
  private readonly identity = new PrimaryIdentity((error) => this.isErrorReply(error))
  private readonly acknowledged: NodeRedisAcknowledged
  private readonly troubles: ConnectionTrouble
  /** Aborts unsent commands when the connection breaks. */
  private unsent = newSignal()
  /** Commands that the last break interrupted, in the order in which they were sent. */
  private readonly cut: Cut[] = []
  private wasOpen: boolean

  constructor(
    private readonly client: NodeRedisClient,
    /** The same client, if `close` ends its connection too. */
    private readonly own: OwnNodeRedis | null,
    runtime: Runtime,
  ) {
    this.keyPrefix =
      (client.options as { keyPrefix?: string | Buffer } | undefined)?.keyPrefix?.toString() ?? ''
    this.wasOpen = client.isOpen || client.socketEpoch > 0
    this.messages = new Subscriptions(runtime, (events) => new NodeRedisMessages(runtime, client, events))
    this.acknowledged = new NodeRedisAcknowledged(client)
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
    return this.wasOpen ? 'ended' : 'connecting'
  }

  get isUnreferenced(): boolean {
    return this.own !== null
  }

  get trouble(): Error | undefined {
    return this.troubles.latest
  }

  get advice(): string {
    return this.wasOpen ? '' : ' The node-redis client was never opened: call its connect().'
  }

  onStateChange(listener: () => void): () => void {
    return this.listeners.add(listener)
  }

  onPrimary(listener: PrimaryListener): () => void {
    return this.primaryListeners.add(listener)
  }

  acknowledgedAt(): AcknowledgedConnection {
    return this.acknowledged.open()
  }

  evalsha(
    sha1: string,
    keys: readonly string[],
    args: readonly string[],
    isWanted: () => boolean,
  ): Promise<unknown> {
    return this.send(['EVALSHA', sha1, `${keys.length}`, ...keys, ...args], isWanted)
  }

  eval(
    lua: string,
    keys: readonly string[],
    args: readonly string[],
    isWanted: () => boolean,
  ): Promise<unknown> {
    return this.send(['EVAL', lua, `${keys.length}`, ...keys, ...args], isWanted)
  }

  info(section: string): Promise<unknown> | undefined {
    return this.state === 'ready' ? this.send(['INFO', section], () => false) : undefined
  }

  scans(): readonly KeyScan[] {
    return [(...step) => this.sendOnce(['SCAN', ...scanArguments(...step)])]
  }

  /**
   * Recognizes reply errors by their prototypes: node-redis gives its errors no name, bundlers may rename the
   * classes, and there may be two copies of it. Redis's errors are SimpleError or BlobError, both derived from
   * ErrorReply and not directly from Error.
   */
  isErrorReply(error: unknown): error is Error {
    if (!(error instanceof Error) || !isInWordsOfRedis(error.message)) {
      return false
    }
    return Object.getPrototypeOf(Object.getPrototypeOf(error)) instanceof Error
  }

  async close(): Promise<void> {
    CHANGES.forEach((event) => this.client.off(event, this.onChange))
    this.client.off('ready', this.onReady)
    BREAKS.forEach((event) => this.client.off(event, this.onBreak))
    this.troubles.close()
    this.listeners.clear()
    this.cut.splice(0).forEach(({ reject }) => reject())
    this.primaryListeners.clear()
    this.acknowledged.close()
    await this.messages.close()
    this.own?.end()
  }

  /** Resends commands that node-redis rejects because the connection broke, as ioredis does by itself. */
  private send(args: string[], isWanted: () => boolean): Promise<unknown> {
    const epoch = this.connectionEpoch
    return this.sendOnce(args).catch((error: unknown) => {
      const wasCut = this.connectionEpoch !== epoch && !this.isErrorReply(error)
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

  /**
   * Without the client's own changes to a command: its `keyPrefix` (see IoredisPort), type mapping, time limit (ours
   * includes the reply) and queue position.
   */
  private sendOnce(args: string[]): Promise<unknown> {
    const plain = { typeMapping: undefined, timeout: undefined, asap: false, abortSignal: this.unsent.signal }
    return this.client.sendCommand(args, plain)
  }

  private settleCut(): void {
    const { state } = this
    if (state === 'ready') {
      this.cut.splice(0).forEach(({ sendAgain }) => sendAgain())
    } else if (state === 'ended') {
      this.cut.splice(0).forEach(({ reject }) => reject())
    }
  }

  private readonly onReady = (): void => {
    const verdict = this.identity.verdict((section) => this.sendOnce(['INFO', section]))
    this.primaryListeners.tell(verdict)
    this.onChange()
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
    this.unsent = newSignal()
    unsent.abort()
    this.onChange()
  }
}

function newSignal(): AbortController {
  const controller = new AbortController()
  // Each unwritten command adds a listener.
  setMaxListeners(0, controller.signal)
  return controller
}
