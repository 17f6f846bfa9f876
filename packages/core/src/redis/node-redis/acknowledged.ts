import {
  duplicateForOnce,
  isNodeRedisReply,
  OwnNodeRedis,
  type Model,
  type NodeRedisClient,
} from './client.js'
import type { AcknowledgedConnection } from '../redis-port.js'
import type { SuspectConnection } from '../silent-connections.js'

interface Opened {
  readonly own: OwnNodeRedis
  readonly used: AcknowledgedConnection
}

/** One connection per address on which replicas are waited for. It never reconnects: the next use opens another. */
export class NodeRedisAcknowledged {
  private readonly connections = new Map<string, Opened>()

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

  close(): void {
    this.connections.forEach(({ own }) => own.end())
    this.connections.clear()
  }

  private dial(address: string, model: Model): Opened | null {
    const connection = duplicateForOnce(model)
    if (!connection) {
      return null
    }
    const forget = (): void => {
      if (this.connections.get(address) === opened) {
        this.connections.delete(address)
        opened.own.end()
      }
    }
    connection.on('error', forget)
    connection.on('end', forget)
    const opened = { own: new OwnNodeRedis(connection), used: usedBy(connection, this.onMoved) }
    this.connections.set(address, opened)
    return opened
  }
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
