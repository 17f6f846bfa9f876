/** The part of a node-redis client, and of its cluster, Sentinel and pool, that runs scripts. */
export interface NodeRedisScripting {
  evalSha(sha1: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  eval(lua: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}

/**
 * What is used of a client that node-redis's `createClient` made (`redis` or `@redis/client`, 5 or 6): structural, so
 * that types resolve without it installed, and so that two copies of it may be.
 */
export interface NodeRedisClient extends NodeRedisScripting {
  /** From the call of `connect` until it is closed or has given up. */
  readonly isOpen: boolean
  readonly isReady: boolean
  /** How often it has been ready. */
  readonly socketEpoch: number
  /** @redis/client 5 has none where it was given none. */
  readonly options?: object | undefined
  connect(): Promise<unknown>
  destroy(): void
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
    // Only a client has one connection whose breaks can be counted.
    typeof client.socketEpoch === 'number'
  )
}

/**
 * Another client with the options of the user's, but for those that only fit a connection of many uses. It never
 * reconnects. Not connected yet: see OwnNodeRedis.
 */
export function duplicateForOnce(client: NodeRedisClient, socketOptions: object = {}): NodeRedisClient {
  const { socket } = (client.options ?? {}) as { readonly socket?: object }
  return client.duplicate({
    socket: { ...socket, reconnectStrategy: false, ...socketOptions },
    disableOfflineQueue: false,
    commandsQueueMaxLength: undefined,
    clientSideCache: undefined,
    emitInvalidate: false,
    commandOptions: {},
  })
}

/** A connection of our own, which nobody else opens or ends. */
export class OwnNodeRedis {
  /** Between the start of an attempt to connect and its socket, or its failure. */
  private dialing = true
  private ended = false

  constructor(readonly client: NodeRedisClient) {
    client.on('reconnecting', () => (this.dialing = true))
    client.on('connect', () => this.dialed())
    // The listener stays for ever: an error that nobody listens to ends the process.
    client.on('error', () => this.dialed())
    client.connect().catch(ignore)
  }

  /**
   * Ends it for good. While a socket is on its way node-redis cannot be made to give it up: `destroy` misses it, and
   * it would stay open. So it is destroyed once it is there.
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
    // node-redis 5 throws when it has given up already.
    if (this.client.isOpen) {
      this.client.destroy()
    }
  }
}

function ignore(): void {
  // How it went is told by events.
}
