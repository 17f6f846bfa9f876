import { isInWordsOfRedis } from '../failures.js'

/** The part of a node-redis client, and of its cluster, Sentinel and pool, that runs scripts and is used here. */
export interface NodeRedisScripting {
  evalSha(sha1: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  eval(lua: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
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

type Like = Record<string, unknown>

export function isNodeRedisClient(value: unknown): value is NodeRedisClient {
  const client = value as Like | null
  return (
    typeof client === 'object' &&
    client !== null &&
    typeof client.evalSha === 'function' &&
    typeof client.sendCommand === 'function' &&
    typeof client.duplicate === 'function' &&
    typeof client.subscribe === 'function' &&
    typeof client.isReady === 'boolean' &&
    // Only single-connection clients have it; its breaks can be counted.
    typeof client.socketEpoch === 'number'
  )
}

/** What connections of our own are made of: a user's client, or what takes its place. */
export interface Model {
  readonly options?: object | undefined
  /** Null: it is not known yet where to. */
  duplicate(overrides: object): NodeRedisClient | null
}

/**
 * A duplicate of the user's client, without options that do not fit a dedicated connection. It never reconnects. Not
 * connected yet: see OwnNodeRedis.
 */
export function duplicateForOnce(model: Model, socketOptions: object = {}): NodeRedisClient | null {
  const { socket } = (model.options ?? {}) as { readonly socket?: object }
  return model.duplicate({
    socket: { ...socket, reconnectStrategy: false, ...socketOptions },
    disableOfflineQueue: false,
    commandsQueueMaxLength: undefined,
    clientSideCache: undefined,
    emitInvalidate: false,
    commandOptions: {},
  })
}

/** A connection of our own, opened and ended only here. It does not keep the process alive. */
export class OwnNodeRedis {
  /** From the start of an attempt to connect until its socket or its failure. */
  private dialing = true
  private ended = false

  constructor(readonly client: NodeRedisClient) {
    client.on('reconnecting', () => (this.dialing = true))
    client.on('connect', () => this.dialed())
    // The listener is never removed: an unhandled 'error' event ends the process.
    client.on('error', () => this.dialed())
    client.unref?.()
    client.connect().catch(ignore)
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

  private dialed(): void {
    this.dialing = false
    if (this.ended) {
      this.destroy()
    }
  }

  private destroy(): void {
    // node-redis 5 throws if it has given up already.
    if (this.client.isOpen) {
      this.client.destroy()
    }
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
