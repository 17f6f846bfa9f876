import { duplicateForOnce, endConnection, type IoredisClient } from './client.js'
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
    const connection = duplicateForOnce(client)
    connection.on('end', () => this.connections.delete(address))
    const opened = new IoredisAcknowledgedConnection(connection as Waiting, this.onMoved)
    this.connections.set(address, opened)
    return opened
  }

  async close(): Promise<void> {
    const all = [...this.connections.values()]
    this.connections.clear()
    await Promise.all(all.map((each) => each.end()))
  }
}

class IoredisAcknowledgedConnection implements AcknowledgedConnection {
  private readonly sender: Sender

  constructor(
    private readonly client: Waiting,
    private readonly onMoved: () => void,
  ) {
    this.sender = plainSender(client)
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
        this.onMoved()
      }
      throw error
    })
  }

  async wait(replicas: number, timeoutMs: number): Promise<number> {
    return Number(await this.client.wait(replicas, timeoutMs))
  }

  end(): Promise<void> {
    return endConnection(this.client)
  }
}
