import type { Runtime } from '../../runtime/runtime.js'
import { duplicateForOnce, OwnNodeRedis, type Model, type NodeRedisClient } from './client.js'
import { reconnectPause, type MessageConnection, type MessageEvents } from '../subscriptions.js'

/**
 * A duplicate of a node-redis client, for subscriptions only. A lost connection is replaced by another duplicate
 * instead of reconnected: node-redis would resubscribe by itself, to the topics at the time of the break, and would
 * treat the connection as failed when one channel is refused.
 */
export class NodeRedisMessages implements MessageConnection {
  private connection: OwnNodeRedis | null = null
  private failures = 0
  private retry: { cancel(): void } | null = null
  private closed = false

  constructor(
    private readonly runtime: Runtime,
    private readonly model: Model,
    private readonly events: MessageEvents,
  ) {}

  get isReady(): boolean {
    return this.connection?.client.isReady === true
  }

  open(): void {
    if (!this.closed && !this.connection && !this.retry) {
      this.dial()
    }
  }

  async subscribe(topics: string[]): Promise<void> {
    await this.connection?.client.subscribe(topics, this.onMessage)
  }

  async unsubscribe(topic: string): Promise<void> {
    // With the listener: without it, node-redis takes an immediate new subscription for an existing one.
    await this.connection?.client.unsubscribe([topic], this.onMessage)
  }

  close(): Promise<void> {
    this.closed = true
    this.retry?.cancel()
    this.connection?.end()
    this.connection = null
    return Promise.resolve()
  }

  /** Redis can be reached again: a pause that has grown meanwhile ends. */
  dialNow(): void {
    if (this.retry) {
      this.retry.cancel()
      this.dial()
    }
  }

  /** The model leads to another server. */
  dialElsewhere(): void {
    const { connection } = this
    if (connection) {
      this.connection = null
      connection.end()
      this.dialLater()
    }
  }

  private dial(): void {
    this.retry = null
    // An idle subscriber receives nothing; that must not time out.
    const client = duplicateForOnce(this.model, { socketTimeout: undefined })
    if (!client) {
      this.dialLater()
      return
    }
    client.on('ready', () => {
      this.failures = 0
      this.events.ready()
    })
    client.on('error', () => {
      if (!client.isOpen) {
        this.dialAgain(client)
      }
    })
    this.connection = new OwnNodeRedis(client)
  }

  /** One failure may emit several errors. */
  private dialAgain(failed: NodeRedisClient): void {
    if (this.connection?.client === failed) {
      this.connection = null
      this.dialLater()
    }
  }

  private dialLater(): void {
    this.failures += 1
    this.retry = this.runtime.setTimer(reconnectPause(this.failures), () => this.dial())
  }

  private readonly onMessage = (payload: string, topic: string): void => this.events.message(topic, payload)
}
