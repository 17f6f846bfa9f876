import { hasMethods } from '../../runtime/plain-object.js'

/** The part of an ioredis client, or of its Cluster, that runs scripts and is used here. */
export interface IoredisScripting {
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>
  eval(lua: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>
}

/**
 * The part of an ioredis client, 5 or 6, used here. Structural, so that types resolve without ioredis, and with two
 * copies of it.
 */
export interface IoredisClient extends IoredisScripting {
  readonly status: string
  readonly options: {
    readonly db?: number | undefined
    readonly keyPrefix?: string | undefined
    readonly sentinels?: unknown
    readonly failoverDetector?: boolean | undefined
  }
  /** CLIENT. Wrappers may not have it. */
  client?(subcommand: string): Promise<unknown>
  /** Its socket, once there is one. */
  readonly stream?:
    | {
        on(event: 'error' | 'finish', listener: () => void): unknown
        readonly writableLength?: number
        cork?(): void
        uncork?(): void
        ref?(): void
        unref?(): void
        destroy?(): void
      }
    | undefined
  /** Not public: the database that it is in, as far as ioredis knows. */
  readonly condition?: { readonly select?: number } | null | undefined
  select?(database: number): Promise<unknown>
  connect(): Promise<unknown>
  disconnect(reconnect?: boolean): void
  quit(): Promise<unknown>
  duplicate(override?: object): IoredisClient
  subscribe(...channels: string[]): Promise<unknown>
  unsubscribe(...channels: string[]): Promise<unknown>
  ssubscribe(...channels: string[]): Promise<unknown>
  sunsubscribe(...channels: string[]): Promise<unknown>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as an EventEmitter has it; nothing stricter fits
  on(event: string, listener: (...args: any[]) => void): unknown
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- see `on`
  off(event: string, listener: (...args: any[]) => void): unknown
  sendCommand(command: never): unknown
}

export function isIoredisClient(value: unknown): value is IoredisClient {
  return hasMethods(value, 'evalsha', 'duplicate', 'sendCommand') && typeof value.status === 'string'
}

/** Sockets of this client, which must be our own, do not keep the process alive, from when they are connected. */
export function unreferenced(client: IoredisClient): void {
  client.on('connect', () => client.stream?.unref?.())
  if (client.options.failoverDetector === true) {
    unreferencedListeners(client as DetectingClient)
  }
}

/** The parts of ioredis's failoverDetector. They are not public; a version where they differ is left alone. */
interface DetectingClient {
  readonly connector?: {
    connectToSentinel?: (endpoint: unknown, options?: { readonly lazyConnect?: boolean }) => IoredisClient
  }
}

/**
 * The detector listens at each Sentinel, on connections that last as long as that to the primary. Those that only ask
 * for the primary end by themselves; without options, they are not lazy.
 */
function unreferencedListeners({ connector }: DetectingClient): void {
  const connect = connector?.connectToSentinel
  if (!connect) {
    return
  }
  connector.connectToSentinel = (endpoint, options) => {
    const sentinel = connect.call(connector, endpoint, options)
    if (options?.lazyConnect === true) {
      sentinel.on('connect', () => sentinel.stream?.unref?.())
      // A Sentinel that is down is tried again once a minute.
      sentinel.on('reconnecting', () => (sentinel as Reconnecting).reconnectTimeout?.unref())
    }
    return sentinel
  }
}

interface Reconnecting {
  readonly reconnectTimeout?: { unref(): void } | null
}

/**
 * What connections of our own do without, whatever the user's client has. Of a prefix: channels are named in full, and
 * ioredis puts that of a cluster's nodes before the channel of SSUBSCRIBE, where nobody publishes.
 */
export const FOR_OUR_OWN = {
  autoResubscribe: false,
  enableAutoPipelining: false,
  enableOfflineQueue: true,
  keyPrefix: '',
  lazyConnect: false,
  maxRetriesPerRequest: null,
} as const

/**
 * Whether ioredis has ended this client because its failoverDetector noticed a switch while the client was asking a
 * Sentinel for the primary. ioredis takes that for a connection that was ended by hand, and does not connect again: each
 * fail-over would end some clients of a fleet for good.
 *
 * @param lastError the last one that the client emitted
 */
export function wasEndedBySwitch(client: IoredisClient, lastError: unknown): boolean {
  const { options, status } = client
  const isByHand = (client as { manuallyClosing?: unknown }).manuallyClosing === true
  return (
    status === 'end' &&
    options.failoverDetector === true &&
    !isByHand &&
    lastError instanceof Error &&
    lastError.message === 'Connection is closed.'
  )
}

/** Disconnects a connection of our own, and resolves when it has ended. */
export async function endConnection(client: IoredisClient): Promise<void> {
  if (client.status === 'end') {
    return
  }
  // Between two attempts to connect, ioredis emits no 'end'.
  const saysSo = client.status !== 'reconnecting'
  const ended = new Promise<void>((resolve) => client.on('end', resolve))
  // ioredis handles one error of a socket. If it is destroyed during a TLS handshake, the server causes a second, and
  // an unhandled 'error' event ends the process.
  client.stream?.on('error', () => undefined)
  // The caller of `close` waits for the end, and its own connections may have ended before.
  client.stream?.ref?.()
  client.disconnect()
  if (saysSo) {
    await ended
  }
}
