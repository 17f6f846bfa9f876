import type { HalfOpenWarning } from '../half-open-warning.js'
import type { Probe, SuspectConnection } from '../silent-connections.js'
import { endConnection, FOR_OUR_OWN, unreferenced, type IoredisClient } from './client.js'
import { plainSender } from './sender.js'

/**
 * A connection of our own that never reconnects: commands in flight when it breaks are not resent without our
 * knowledge, and its subscriptions may belong to another node by then.
 */
export class OwnIoredis implements SuspectConnection {
  protected readonly connection: IoredisClient

  constructor(client: IoredisClient, overrides: object = {}) {
    const options = { ...FOR_OUR_OWN, readOnly: false, retryStrategy: () => null, ...overrides }
    this.connection = client.duplicate(options)
    this.connection.on('error', () => undefined)
    unreferenced(this.connection)
  }

  get socket(): unknown {
    return this.connection
  }

  get isConnected(): boolean {
    return isConnected(this.connection)
  }

  ping(): Promise<unknown> {
    return plainSender(this.connection).ping()
  }

  /** Its server would not answer the end of the connection, for which ioredis waits. */
  drop(): void {
    this.connection.stream?.destroy?.()
  }

  end(): Promise<void> {
    return endConnection(this.connection)
  }
}

/** A new connection to where the client's leads. */
export function probeOf(client: IoredisClient): Probe {
  const own = new OwnIoredis(client)
  return { answered: own.ping(), end: () => void own.end() }
}

/**
 * A client that connects again by itself, and sends again what was in flight.
 * @param warning for one that was given to us; null: it is our own
 */
export function suspectOf(client: IoredisClient, warning: HalfOpenWarning | null): SuspectConnection {
  const sender = plainSender(client)
  return {
    get socket() {
      return client.stream
    },
    get isConnected() {
      return isConnected(client) && warning?.hasWarned !== true
    },
    ping: () => sender.ping(),
    drop: () => (warning ? warning.warn() : client.stream?.destroy?.()),
  }
}

/** Whether it has a socket that is connected, with or without the server's first answers. */
function isConnected({ status }: IoredisClient): boolean {
  return status === 'ready' || status === 'connect'
}
