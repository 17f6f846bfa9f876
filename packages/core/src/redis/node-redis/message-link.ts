import type { PublishCommand } from '../announcement.js'
import type { LinkEvents, MessageLink } from '../nodes.js'
import { duplicateForOnce, OwnNodeRedis, type Model, type NodeRedisClient } from './client.js'

interface Sharded extends NodeRedisClient {
  sSubscribe: NodeRedisClient['subscribe']
  sUnsubscribe: NodeRedisClient['unsubscribe']
}

/** A connection for messages. Null: it is not known yet where to. */
export function messageLink(
  address: string,
  model: Model,
  command: PublishCommand,
  events: LinkEvents,
): MessageLink | null {
  // An idle subscriber receives nothing; that must not time out.
  const client = duplicateForOnce(model, { socketTimeout: undefined })
  return client ? new NodeRedisMessageLink(address, client, command, events) : null
}

class NodeRedisMessageLink extends OwnNodeRedis implements MessageLink {
  private isOver = false

  constructor(
    readonly address: string,
    client: NodeRedisClient,
    private readonly command: PublishCommand,
    private readonly events: LinkEvents,
  ) {
    super(client)
    client.on('connect', events.connected)
    client.on('sharded-channel-moved', events.moved)
    // Also one that leaves the connection open: node-redis takes the news that a slot has left for the reply to a
    // command that is under way, and fails when that arrives.
    client.on('error', this.over)
    client.on('end', this.over)
  }

  listen(topic: string): Promise<unknown> {
    const client = this.client as Sharded
    return this.command === 'SPUBLISH'
      ? client.sSubscribe([topic], this.onMessage)
      : client.subscribe([topic], this.onMessage)
  }

  unlisten(topic: string): Promise<unknown> {
    const client = this.client as Sharded
    // With the listener: without it, node-redis takes an immediate new subscription for an existing one.
    return this.command === 'SPUBLISH'
      ? client.sUnsubscribe([topic], this.onMessage)
      : client.unsubscribe([topic], this.onMessage)
  }

  private readonly onMessage = (payload: string, topic: string): void => this.events.message(topic, payload)

  private readonly over = (why?: unknown): void => {
    if (!this.isOver) {
      this.isOver = true
      this.end()
      this.events.ended(why)
    }
  }
}
