import type { IoredisClient } from './client.js'
import { OwnIoredis } from './own-ioredis.js'
import { ignore, isReplyError, plainSender, type Sender } from './sender.js'
import type { AcknowledgedConnection } from '../redis-port.js'

interface Waiting extends IoredisClient {
  wait(replicas: number, timeoutMs: number): Promise<number | string>
  asking(): Promise<unknown>
}

/** One connection per address on which replicas are waited for. It never reconnects: the next use opens another. */
export class IoredisAcknowledged {
  private readonly connections = new Map<string, IoredisAcknowledgedConnection>()

  /** `onMoved`: called when a node replies that a slot has moved. */
  constructor(private readonly onMoved: () => void = ignore) {}

  at(address: string, client: IoredisClient): AcknowledgedConnection {
    const there = this.connections.get(address)
    if (there) {
      return there
    }
    const events = { moved: this.onMoved, ended: () => void this.connections.delete(address) }
    const opened = new IoredisAcknowledgedConnection(client, events)
    this.connections.set(address, opened)
    return opened
  }

  /** Calls `use` with each of them. */
  forEach(use: (connection: OwnIoredis, address: string) => void): void {
    this.connections.forEach(use)
  }

  async close(): Promise<void> {
    const all = [...this.connections.values()]
    this.connections.clear()
    await Promise.all(all.map((each) => each.end()))
  }
}

class IoredisAcknowledgedConnection extends OwnIoredis implements AcknowledgedConnection {
  private readonly sender: Sender

  constructor(
    client: IoredisClient,
    private readonly events: { readonly moved: () => void; readonly ended: () => void },
  ) {
    super(client)
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

  private get client(): Waiting {
    return this.connection as Waiting
  }
}
