import type { PublishCommand } from '../announcement.js'
import type { LinkEvents, MessageLink } from '../cluster/view.js'
import { duplicateForOnce, endConnection, type IoredisClient } from './client.js'
import { nodeKey, type IoredisNode } from './cluster.js'

/**
 * A connection for messages from one node of a cluster. One for sharded messages carries no others, because in RESP2
 * ioredis takes the last unsubscription of one kind for the end of both.
 */
export class IoredisClusterLink implements MessageLink {
  readonly address: string
  private readonly connection: IoredisClient

  constructor(
    node: IoredisNode,
    private readonly command: PublishCommand,
    events: LinkEvents,
  ) {
    this.address = nodeKey(node)
    this.connection = duplicateForOnce(node)
    this.connection.on(command === 'SPUBLISH' ? 'smessage' : 'message', events.message)
    this.connection.on('moved', events.moved)
    this.connection.on('end', events.ended)
  }

  /** Never settles if the node replies that the slot is elsewhere: `moved` reports that. */
  listen(topic: string): Promise<unknown> {
    const { connection } = this
    return this.command === 'SPUBLISH' ? connection.ssubscribe(topic) : connection.subscribe(topic)
  }

  unlisten(topic: string): Promise<unknown> {
    const { connection } = this
    return this.command === 'SPUBLISH' ? connection.sunsubscribe(topic) : connection.unsubscribe(topic)
  }

  end(): Promise<void> {
    return endConnection(this.connection)
  }
}
