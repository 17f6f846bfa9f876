import type { PublishCommand } from '../announcement.js'
import type { LinkEvents, MessageLink } from '../nodes.js'
import type { IoredisClient } from './client.js'
import { OwnIoredis } from './own-ioredis.js'

/**
 * A connection for messages. One for sharded messages carries no others, because in RESP2 ioredis takes the last
 * unsubscription of one kind for the end of both.
 */
export class IoredisMessageLink extends OwnIoredis implements MessageLink {
  constructor(
    readonly address: string,
    client: IoredisClient,
    private readonly command: PublishCommand,
    events: LinkEvents,
  ) {
    super(client)
    let lastError: unknown
    this.connection.on('error', (error: unknown) => (lastError = error))
    this.connection.on('connect', events.connected)
    this.connection.on(command === 'SPUBLISH' ? 'smessage' : 'message', events.message)
    this.connection.on('moved', events.moved)
    this.connection.on('end', () => events.ended(lastError))
  }

  listen(topic: string): Promise<unknown> {
    const { connection } = this
    return this.command === 'SPUBLISH' ? connection.ssubscribe(topic) : connection.subscribe(topic)
  }

  unlisten(topic: string): Promise<unknown> {
    const { connection } = this
    return this.command === 'SPUBLISH' ? connection.sunsubscribe(topic) : connection.unsubscribe(topic)
  }
}
