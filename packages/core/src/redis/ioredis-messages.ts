import type { WakeSource } from '@holdfast/waiter'
import { FOR_REDISSON } from '../keys.js'
import { backgroundClock } from '../system-clock.js'
import { endConnection, type IoredisClient } from './ioredis-client.js'

const LONGEST_RECONNECT_PAUSE_MS = 2_000
const REFUSED_PAUSE_MS = 500

interface Subscription {
  readonly onMessage: (payload: string) => void
  readonly waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[]
  confirmed: boolean
}

/**
 * Messages over a second ioredis connection, opened with the first subscription. Subscribing again after a lost
 * connection is done here and not by ioredis: its own is not confirmed when it says `ready`, and its failure is
 * nobody's promise.
 */
export class IoredisMessages implements WakeSource {
  private connection: IoredisClient | null = null
  private readonly subscriptions = new Map<string, Subscription>()
  private readonly listeners = new Set<() => void>()
  private wasReady = false
  private closed = false
  private retry: { cancel(): void } | null = null

  constructor(private readonly client: IoredisClient) {}

  subscribe(topic: string, onMessage: (payload: string) => void): Promise<void> {
    if (this.closed) {
      return Promise.reject(new Error('The subscriber is closed.'))
    }
    const subscription: Subscription = { onMessage, waiting: [], confirmed: false }
    this.subscriptions.set(topic, subscription)
    const confirmed = new Promise<void>((resolve, reject) => subscription.waiting.push({ resolve, reject }))
    const connection = this.open()
    if (connection.status === 'ready') {
      connection.subscribe(topic).then(
        () => this.confirm(topic, subscription),
        (error: unknown) => this.fail(topic, subscription, error),
      )
    }
    // Otherwise `onReady` subscribes to everything at once.
    return confirmed
  }

  async unsubscribe(topic: string): Promise<void> {
    const subscription = this.subscriptions.get(topic)
    this.subscriptions.delete(topic)
    subscription?.waiting.forEach(({ reject }) => reject(new Error('Unsubscribed before it was confirmed.')))
    if (this.connection?.status === 'ready') {
      await this.connection.unsubscribe(topic)
    }
  }

  onResubscribed(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  async close(): Promise<void> {
    this.closed = true
    this.retry?.cancel()
    this.listeners.clear()
    for (const topic of [...this.subscriptions.keys()]) {
      this.subscriptions
        .get(topic)
        ?.waiting.forEach(({ reject }) => reject(new Error('The subscriber is closed.')))
      this.subscriptions.delete(topic)
    }
    const { connection } = this
    this.connection = null
    if (connection && connection.status !== 'end') {
      await endConnection(connection)
    }
  }

  private open(): IoredisClient {
    if (!this.connection) {
      this.connection = this.client.duplicate({
        autoResubscribe: false,
        enableAutoPipelining: false,
        enableOfflineQueue: true,
        lazyConnect: false,
        maxRetriesPerRequest: null,
        // Must never give up for good, whatever the user's connection does: waiters would be deaf from then on.
        retryStrategy: (attempt: number) =>
          Math.min(50 * 2 ** Math.min(attempt, 10), LONGEST_RECONNECT_PAUSE_MS),
      })
      this.connection.on('error', ignore)
      this.connection.on('ready', this.onReady)
      this.connection.on('message', this.onMessage)
    }
    return this.connection
  }

  private readonly onMessage = (topic: string, payload: string): void => {
    if (payload !== FOR_REDISSON) {
      this.subscriptions.get(topic)?.onMessage(payload)
    }
  }

  private readonly onReady = (): void => {
    const topics = [...this.subscriptions]
    const isReconnect = this.wasReady
    this.wasReady = true
    this.retry?.cancel()
    if (!this.connection || topics.length === 0) {
      return
    }
    this.connection.subscribe(...topics.map(([topic]) => topic)).then(
      () => {
        topics.forEach(([topic, subscription]) => this.confirm(topic, subscription))
        if (isReconnect) {
          this.listeners.forEach((listener) => listener())
        }
      },
      // A refusal (ACL) is told to those who wait for it.
      (error: unknown) => {
        topics.forEach(([topic, subscription]) => this.fail(topic, subscription, error))
        if (!this.closed) {
          this.subscribeLater()
        }
      },
    )
  }

  /**
   * Where the connection broke again, the next `ready` subscribes. One that stays, to a Redis that refuses for a
   * while (BUSY), has no next `ready`: what was confirmed before would be deaf from now on.
   */
  private subscribeLater(): void {
    this.retry = backgroundClock.setTimer(REFUSED_PAUSE_MS, () => {
      if (this.connection?.status === 'ready') {
        this.onReady()
      }
    })
  }

  private confirm(topic: string, subscription: Subscription): void {
    if (this.subscriptions.get(topic) === subscription) {
      subscription.confirmed = true
      subscription.waiting.splice(0).forEach(({ resolve }) => resolve())
    }
  }

  /** Whoever still waits is told and forgotten; what was confirmed before stays wanted for the next `ready`. */
  private fail(topic: string, subscription: Subscription, error: unknown): void {
    if (!subscription.confirmed && this.subscriptions.get(topic) === subscription) {
      this.subscriptions.delete(topic)
      subscription.waiting.splice(0).forEach(({ reject }) => reject(error))
    }
  }
}

function ignore(): void {
  // Connection errors show as missing messages, which the waiter's resync covers.
}
