import type { PublishCommand } from '../announcement.js'
import type { LinkEvents, MessageLink } from '../cluster/view.js'
import { OwnNodeRedis, type NodeRedisClient } from './client.js'

interface Sharded extends NodeRedisClient {
  sSubscribe: NodeRedisClient['subscribe']
  sUnsubscribe: NodeRedisClient['unsubscribe']
}

/** A connection for messages from one node of a cluster. */
export class NodeRedisClusterLink implements MessageLink {
  private readonly own: OwnNodeRedis
  private readonly client: Sharded
  private isOver = false

  constructor(
    readonly address: string,
    client: NodeRedisClient,
    private readonly command: PublishCommand,
    private readonly events: LinkEvents,
  ) {
    this.client = client as Sharded
    client.on('sharded-channel-moved', events.moved)
    // Also one that leaves the connection open: node-redis takes the news that a slot has left for the reply to a
    // command that is under way, and fails when that arrives.
    client.on('error', this.over)
    client.on('end', this.over)
    this.own = new OwnNodeRedis(client)
  }

  listen(topic: string): Promise<unknown> {
    const { client } = this
    return this.command === 'SPUBLISH'
      ? client.sSubscribe([topic], this.onMessage)
      : client.subscribe([topic], this.onMessage)
  }

  unlisten(topic: string): Promise<unknown> {
    const { client } = this
    // With the listener: without it, node-redis takes an immediate new subscription for an existing one.
    return this.command === 'SPUBLISH'
      ? client.sUnsubscribe([topic], this.onMessage)
      : client.unsubscribe([topic], this.onMessage)
  }

  end(): Promise<void> {
    this.own.end()
    return Promise.resolve()
  }

  private readonly onMessage = (payload: string, topic: string): void => this.events.message(topic, payload)

  private readonly over = (): void => {
    if (!this.isOver) {
      this.isOver = true
      this.own.end()
      this.events.ended()
    }
  }
}
