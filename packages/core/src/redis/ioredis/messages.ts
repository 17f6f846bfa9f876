import { duplicateOf, endConnection, wasEndedBySwitch, type IoredisClient } from './client.js'
import { reconnectPause, type MessageConnection, type MessageEvents } from '../subscriptions.js'

/** A duplicate of an ioredis client, for subscriptions only. */
export class IoredisMessages implements MessageConnection {
  private connection: IoredisClient | null = null

  constructor(
    private readonly client: IoredisClient,
    private readonly events: MessageEvents,
  ) {}

  get isReady(): boolean {
    return this.connection?.status === 'ready'
  }

  open(): void {
    if (this.connection) {
      return
    }
    // Must never give up, whatever the user's own settings.
    const connection = duplicateOf(this.client, reconnectPause)
    this.connection = connection
    // An error means missed messages, which the waiter's resync covers.
    let lastError: unknown
    connection.on('error', (error: unknown) => (lastError = error))
    connection.on('end', () => {
      if (this.connection === connection && wasEndedBySwitch(connection, lastError)) {
        connection.connect().catch(ignore)
      }
    })
    connection.on('ready', () => this.events.ready())
    connection.on('message', (topic: string, payload: string) => this.events.message(topic, payload))
  }

  async subscribe(topics: string[]): Promise<void> {
    await this.connection?.subscribe(...topics)
  }

  async unsubscribe(topic: string): Promise<void> {
    await this.connection?.unsubscribe(topic)
  }

  async close(): Promise<void> {
    const { connection } = this
    this.connection = null
    if (connection) {
      await endConnection(connection)
    }
  }
}

function ignore(): void {
  // Its result arrives as events.
}
