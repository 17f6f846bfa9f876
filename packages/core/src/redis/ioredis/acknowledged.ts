import type { IoredisClient } from './client.js'
import { OwnIoredis } from './own-ioredis.js'
import { ignore, isReplyError, plainSender, type Sender } from './sender.js'
import {
  OpeningConnection,
  placeOf,
  requireSamePlace,
  requireWanted,
  type ConnectionPlace,
} from '../connection-place.js'
import type { AcknowledgedConnection } from '../redis-port.js'

interface Waiting extends IoredisClient {
  wait(replicas: number, timeoutMs: number): Promise<number | string>
  asking(): Promise<unknown>
}

/** One connection per address on which replicas are waited for. It never reconnects: the next use opens another. */
export class IoredisAcknowledged {
  private readonly connections = new Map<string, IoredisAcknowledgedConnection>()
  private readonly neighbours = new Map<string, AcknowledgedConnection>()

  /** `onMoved`: called when a node replies that a slot has moved. */
  constructor(private readonly onMoved: () => void = ignore) {}

  at(address: string, client: IoredisClient): AcknowledgedConnection {
    const there = this.connections.get(address)
    if (there) {
      return there
    }
    return this.dial(address, client, {}, ignore)
  }

  /**
   * To where the connection of this client is now, which its options may not say: after `select()` a duplicate would be in
   * another database, and its locks would exclude nobody.
   */
  beside(client: IoredisClient): AcknowledgedConnection {
    // A client that has moved since then gets another connection.
    const address = `${client.condition?.select ?? ''}`
    const there = this.neighbours.get(address)
    if (there) {
      return there
    }
    const isWanted = (): boolean => this.neighbours.get(address) === opening
    const opening: AcknowledgedConnection = new OpeningConnection(this.open(address, client, isWanted))
    this.neighbours.set(address, opening)
    return opening
  }

  /** Calls `use` with each of them. */
  forEach(use: (connection: OwnIoredis, address: string) => void): void {
    this.connections.forEach(use)
  }

  async close(): Promise<void> {
    const all = [...this.connections.values()]
    this.connections.clear()
    this.neighbours.clear()
    await Promise.all(all.map((each) => each.end()))
  }

  private async open(
    address: string,
    client: IoredisClient,
    isWanted: () => boolean,
  ): Promise<AcknowledgedConnection> {
    const forget = (): void => {
      if (isWanted()) {
        this.neighbours.delete(address)
      }
    }
    let opened: IoredisAcknowledgedConnection | null = null
    try {
      const place = await placeIn(client)
      requireWanted(isWanted())
      const db = place?.database ?? client.condition?.select
      const name = place?.name
      const overrides = { ...(db === undefined ? {} : { db }), ...(name ? { connectionName: name } : {}) }
      opened = this.dial(address, client, overrides, forget)
      // ioredis stays in database 0 where SELECT is refused.
      requireSamePlace(await placeIn(opened.client), place)
      return opened
    } catch (error) {
      forget()
      void opened?.end()
      throw error
    }
  }

  private dial(
    address: string,
    client: IoredisClient,
    overrides: object,
    onEnd: () => void,
  ): IoredisAcknowledgedConnection {
    const ended = (): void => {
      this.connections.delete(address)
      onEnd()
    }
    const opened = new IoredisAcknowledgedConnection(client, overrides, { moved: this.onMoved, ended })
    this.connections.set(address, opened)
    return opened
  }
}

function placeIn(client: IoredisClient): Promise<ConnectionPlace | null> {
  return placeOf(() => client.client?.('INFO'), isReplyError)
}

class IoredisAcknowledgedConnection extends OwnIoredis implements AcknowledgedConnection {
  private readonly sender: Sender

  constructor(
    client: IoredisClient,
    overrides: object,
    private readonly events: { readonly moved: () => void; readonly ended: () => void },
  ) {
    super(client, overrides)
    this.connection.on('end', events.ended)
    this.sender = plainSender(this.connection)
  }

  asking(): void {
    this.client.asking().catch(ignore)
  }

  evalsha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.watched(this.sender.evalsha(sha1, keys.length, ...keys, ...args))
  }

  eval(lua: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.watched(this.sender.eval(lua, keys.length, ...keys, ...args))
  }

  /** A Cluster learns from refusals of its own commands where slots are; it does not see these. */
  private watched(answer: Promise<unknown>): Promise<unknown> {
    return answer.catch((error: unknown) => {
      if (isReplyError(error) && error.message.startsWith('MOVED ')) {
        this.events.moved()
      }
      throw error
    })
  }

  async wait(replicas: number, timeoutMs: number): Promise<number> {
    return Number(await this.client.wait(replicas, timeoutMs))
  }

  get client(): Waiting {
    return this.connection as Waiting
  }
}
