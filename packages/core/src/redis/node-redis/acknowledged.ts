import {
  duplicateForOnce,
  isNodeRedisReply,
  OwnNodeRedis,
  PLAIN,
  type Model,
  type NodeRedisClient,
} from './client.js'
import {
  OpeningConnection,
  placeOf,
  requireSamePlace,
  requireWanted,
  type ConnectionPlace,
} from '../connection-place.js'
import type { AcknowledgedConnection } from '../redis-port.js'
import type { SuspectConnection } from '../silent-connections.js'

interface Opened {
  readonly own: OwnNodeRedis
  readonly used: AcknowledgedConnection
}

type Asked = Model & Pick<NodeRedisClient, 'sendCommand'>

const BESIDE = ''

/** One connection per address on which replicas are waited for. It never reconnects: the next use opens another. */
export class NodeRedisAcknowledged {
  private readonly connections = new Map<string, Opened>()
  private neighbour: AcknowledgedConnection | null = null

  /** `onMoved`: called when a node replies that a slot has moved. */
  constructor(private readonly onMoved: () => void = ignore) {}

  /** Null: it is not known yet where to connect. */
  at(address: string, model: Model): AcknowledgedConnection | null {
    return (this.connections.get(address) ?? this.dial(address, model))?.used ?? null
  }

  /** Calls `use` with each of them. */
  forEach(use: (connection: SuspectConnection, address: string) => void): void {
    this.connections.forEach(({ own }, address) => use(own, address))
  }

  /**
   * To where the connection of this client is now, which its options may not say: after `select()` a duplicate would be in
   * another database, and its locks would exclude nobody.
   */
  beside(client: Asked): AcknowledgedConnection {
    if (this.neighbour) {
      return this.neighbour
    }
    const isWanted = (): boolean => this.neighbour === opening
    const opening: AcknowledgedConnection = new OpeningConnection(this.open(client, isWanted))
    this.neighbour = opening
    return opening
  }

  close(): void {
    this.neighbour = null
    this.connections.forEach(({ own }) => own.end())
    this.connections.clear()
  }

  private async open(client: Asked, isWanted: () => boolean): Promise<AcknowledgedConnection> {
    const forget = (): void => {
      if (isWanted()) {
        this.neighbour = null
      }
    }
    try {
      const place = await placeIn(client)
      requireWanted(isWanted())
      // A URL would be preferred to the database; the options have its address and user.
      const overrides = place
        ? { url: undefined, database: place.database, ...(place.name ? { name: place.name } : {}) }
        : {}
      const opened = this.dial(BESIDE, client, overrides, forget)
      if (!opened) {
        throw new Error('It is not known yet where to connect.')
      }
      requireSamePlace(await placeIn(opened.own.client), place)
      return opened.used
    } catch (error) {
      if (isWanted()) {
        this.connections.get(BESIDE)?.own.end()
        this.connections.delete(BESIDE)
      }
      forget()
      throw error
    }
  }

  private dial(
    address: string,
    model: Model,
    overrides: object = {},
    onEnd: () => void = ignore,
  ): Opened | null {
    const connection = duplicateForOnce(model, {}, overrides)
    if (!connection) {
      return null
    }
    const forget = (): void => {
      if (this.connections.get(address) === opened) {
        this.connections.delete(address)
        opened.own.end()
        onEnd()
      }
    }
    connection.on('error', forget)
    connection.on('end', forget)
    const opened = { own: new OwnNodeRedis(connection), used: usedBy(connection, this.onMoved) }
    this.connections.set(address, opened)
    return opened
  }
}

function placeIn(client: Asked | NodeRedisClient): Promise<ConnectionPlace | null> {
  return placeOf(() => client.sendCommand(['CLIENT', 'INFO'], PLAIN), isNodeRedisReply)
}

function usedBy(connection: NodeRedisClient, onMoved: () => void): AcknowledgedConnection {
  const send = (...args: string[]): Promise<unknown> => connection.sendCommand(args)
  // Nothing else sees these replies.
  const watched = (answer: Promise<unknown>): Promise<unknown> =>
    answer.catch((error: unknown) => {
      if (isNodeRedisReply(error) && error.message.startsWith('MOVED ')) {
        onMoved()
      }
      throw error
    })
  return {
    asking: () => void send('ASKING').catch(ignore),
    evalsha: (sha1, keys, args) => watched(send('EVALSHA', sha1, `${keys.length}`, ...keys, ...args)),
    eval: (lua, keys, args) => watched(send('EVAL', lua, `${keys.length}`, ...keys, ...args)),
    wait: async (replicas, timeoutMs) => Number(await send('WAIT', `${replicas}`, `${timeoutMs}`)),
  }
}

function ignore(): void {
  // The command behind it fails as well.
}
