import { hasMethods } from '../../runtime/plain-object.js'
import { jittered, type Runtime } from '../../runtime/runtime.js'
import { isInWordsOfRedis } from '../failures.js'
import type { Probe, SuspectConnection } from '../silent-connections.js'

/** The part of a node-redis client, and of its cluster, Sentinel and pool, that runs scripts and is used here. */
export interface NodeRedisScripting {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  readonly evalSha: NodeRedisScripting['eval']
}

/**
 * The part of a client from node-redis's `createClient` (`redis` or `@redis/client`, 5 or 6) used here. Structural,
 * so that types resolve without node-redis, and with two copies of it.
 */
export interface NodeRedisClient extends NodeRedisScripting {
  /** From the call of `connect` until the client is closed or has given up. */
  readonly isOpen: boolean
  readonly isReady: boolean
  /** How often it has been ready. */
  readonly socketEpoch: number
  /** Undefined in @redis/client 5 if none were given. */
  readonly options?: object | undefined
  connect(): Promise<unknown>
  destroy(): void
  /** Its sockets, this one and later ones, do not keep the process alive. */
  unref?(): void
  duplicate(overrides?: object): NodeRedisClient
  sendCommand(args: string[], options?: object): Promise<unknown>
  subscribe(channels: string[], listener: (message: string, channel: string) => unknown): Promise<unknown>
  unsubscribe(channels: string[], listener: (message: string, channel: string) => unknown): Promise<unknown>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as an EventEmitter has it; nothing stricter fits
  on(event: string | symbol, listener: (...args: any[]) => void): unknown
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- see `on`
  off(event: string | symbol, listener: (...args: any[]) => void): unknown
}

export function isNodeRedisClient(value: unknown): value is NodeRedisClient {
  return (
    hasMethods(value, 'evalSha', 'sendCommand', 'duplicate', 'subscribe') &&
    typeof value.isReady === 'boolean' &&
    // Only single-connection clients have it; its breaks can be counted.
    typeof value.socketEpoch === 'number'
  )
}

/** The origin of connections of our own: a user's client, or its substitute. */
export interface Model {
  readonly options?: object | undefined
  /** Null: it is not known yet where to. */
  duplicate(overrides: object): NodeRedisClient | null
}

/**
 * A duplicate of the user's client, without options that do not fit a dedicated connection. It never reconnects. Not
 * connected yet: see OwnNodeRedis.
 */
export function duplicateForOnce(
  model: Model,
  socketOptions: object = {},
  overrides: object = {},
): NodeRedisClient | null {
  const { socket } = (model.options ?? {}) as { readonly socket?: object }
  return model.duplicate({
    socket: { ...socket, reconnectStrategy: false, ...socketOptions },
    disableOfflineQueue: false,
    commandsQueueMaxLength: undefined,
    clientSideCache: undefined,
    emitInvalidate: false,
    commandOptions: {},
    ...NOT_MOVED,
    ...overrides,
  })
}

/**
 * Connections of our own do not ask for maintenance notifications: node-redis swaps the socket of one that is told to
 * move, and says neither that nor that its subscriptions stayed behind. Without them the server ends the connection, and
 * the next one leads to where it is then.
 */
export const NOT_MOVED = { maintNotifications: 'disabled' } as const

/** A new connection to where the model leads. */
export function probeOf(model: Model): Probe | null {
  const client = duplicateForOnce(model)
  if (!client) {
    return null
  }
  const own = new OwnNodeRedis(client)
  return { answered: own.ping(), end: () => own.end() }
}

/** A connection of our own, opened and ended only here. It does not keep the process alive. */
export class OwnNodeRedis implements SuspectConnection {
  /** From the start of an attempt to connect until its socket or its failure. */
  private dialing = true
  protected ended = false

  constructor(readonly client: NodeRedisClient) {
    client.on('reconnecting', () => (this.dialing = true))
    client.on('connect', () => this.dialed())
    // The listener is never removed: an unhandled 'error' event ends the process.
    client.on('error', () => this.dialed())
    client.unref?.()
    this.dial()
  }

  get socket(): unknown {
    return this.client
  }

  get isConnected(): boolean {
    return this.client.isOpen && !this.dialing
  }

  ping(): Promise<unknown> {
    return this.client.sendCommand(['PING'], PLAIN)
  }

  drop(): void {
    this.end()
  }

  /**
   * Ends the connection for good. While a socket is being opened, `destroy` of node-redis misses it, and it would
   * stay open; so it is destroyed once it is connected.
   */
  end(): void {
    this.ended = true
    if (!this.dialing) {
      this.destroy()
    }
  }

  protected dial(): void {
    this.dialing = true
    this.client.connect().catch(ignore)
  }

  protected destroy(): void {
    // node-redis 5 throws if it has given up already.
    if (this.client.isOpen) {
      this.client.destroy()
    }
  }

  private dialed(): void {
    this.dialing = false
    if (this.ended) {
      this.destroy()
    }
  }
}

// In the handshake, node-redis would go on with a socket that was destroyed if the client were open again at once.
const BEFORE_THE_NEXT_MS = 100

/** One that connects again by itself, and when told. */
export class LastingNodeRedis extends OwnNodeRedis {
  private next: { cancel(): void } | null = null

  constructor(
    client: NodeRedisClient,
    private readonly runtime: Runtime,
  ) {
    super(client)
  }

  /** Between two connections: the client itself looks as if it were closed. */
  get isReplacing(): boolean {
    return this.next !== null
  }

  override drop(): void {
    if (!this.ended && !this.next) {
      this.next = this.runtime.setTimer(jittered(BEFORE_THE_NEXT_MS, this.runtime.random()), () => {
        this.next = null
        this.dial()
      })
      this.destroy()
    }
  }

  override end(): void {
    this.next?.cancel()
    this.next = null
    super.end()
  }
}

/**
 * Recognizes reply errors by their prototypes: node-redis gives its errors no name, bundlers may rename the
 * classes, and there may be two copies of it. Redis's errors are SimpleError or BlobError, both derived from
 * ErrorReply and not directly from Error.
 */
export function isNodeRedisReply(error: unknown): error is Error {
  if (!(error instanceof Error) || !isInWordsOfRedis(error.message)) {
    return false
  }
  return Object.getPrototypeOf(Object.getPrototypeOf(error)) instanceof Error
}

/**
 * Options for a command, without the client's own changes to it: its `keyPrefix` (see IoredisPort), type mapping, time
 * limit (ours includes the reply) and queue position.
 */
export const PLAIN = { typeMapping: undefined, timeout: undefined, asap: false } as const

export const NEVER_OPENED = ' The node-redis client was never opened: call its connect().'

function ignore(): void {
  // The result arrives as events.
}
