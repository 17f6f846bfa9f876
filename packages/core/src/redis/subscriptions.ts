import type { WakeSource } from '@holdfast/waiter'
import { FOR_REDISSON } from '../keys.js'
import type { Runtime } from '../runtime/runtime.js'
import { Listeners } from './listeners.js'

const LONGEST_RECONNECT_PAUSE_MS = 2_000
const REFUSED_PAUSE_MS = 500

interface Subscription {
  readonly onMessage: (payload: string) => void
  readonly waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[]
  confirmed: boolean
}

/** Events of a connection for messages. */
export interface MessageEvents {
  /** The connection is ready, for the first time or again; it has no subscriptions yet. */
  ready(): void
  message(topic: string, payload: string): void
}

/** A connection for messages, implemented per client. It must never give up: waiters would miss all messages. */
export interface MessageConnection {
  readonly isReady: boolean
  /** Starts to connect, once. */
  open(): void
  /** Resolves when Redis has confirmed all topics. Rejects while the connection stays ready if Redis refuses them. */
  subscribe(topics: string[]): Promise<unknown>
  unsubscribe(topic: string): Promise<unknown>
  close(): Promise<void>
}

/** @param attempt from 1. @returns the pause before it, ms */
export function reconnectPause(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 10), LONGEST_RECONNECT_PAUSE_MS)
}

/**
 * Subscriptions on a second connection, opened with the first of them. Resubscribing after a lost connection is done
 * here and not by the client: ioredis is `ready` before its resubscription is confirmed, and its failure rejects no
 * promise; node-redis fails the whole connection with it.
 */
export class Subscriptions implements WakeSource {
  private readonly connection: MessageConnection
  private readonly subscriptions = new Map<string, Subscription>()
  private readonly listeners = new Listeners()
  private wasReady = false
  private closed = false
  private retry: { cancel(): void } | null = null

  constructor(
    private readonly runtime: Runtime,
    connect: (events: MessageEvents) => MessageConnection,
  ) {
    this.connection = connect({
      ready: () => this.subscribeToAll(),
      message: (topic, payload) => this.deliver(topic, payload),
    })
  }

  subscribe(topic: string, onMessage: (payload: string) => void): Promise<void> {
    if (this.closed) {
      return Promise.reject(new Error('The subscriber is closed.'))
    }
    const subscription: Subscription = { onMessage, waiting: [], confirmed: false }
    this.subscriptions.set(topic, subscription)
    const confirmed = new Promise<void>((resolve, reject) => subscription.waiting.push({ resolve, reject }))
    this.connection.open()
    if (this.connection.isReady) {
      this.connection.subscribe([topic]).then(
        () => this.confirm(topic, subscription),
        (error: unknown) => this.fail(topic, subscription, error),
      )
    }
    // Otherwise `subscribeToAll` subscribes.
    return confirmed
  }

  /** Deferred, because it writes to a socket: a caller that has just received its lock runs first. */
  beforeUnsubscribe(): Promise<void> {
    return new Promise((resolve) => this.runtime.afterTurn(resolve))
  }

  async unsubscribe(topic: string): Promise<void> {
    const subscription = this.subscriptions.get(topic)
    this.subscriptions.delete(topic)
    subscription?.waiting.forEach(({ reject }) => reject(new Error('Unsubscribed before it was confirmed.')))
    if (this.connection.isReady) {
      await this.connection.unsubscribe(topic)
    }
  }

  onResubscribed(listener: () => void): () => void {
    return this.listeners.add(listener)
  }

  async close(): Promise<void> {
    this.closed = true
    this.retry?.cancel()
    this.listeners.clear()
    for (const { waiting } of this.subscriptions.values()) {
      waiting.forEach(({ reject }) => reject(new Error('The subscriber is closed.')))
    }
    this.subscriptions.clear()
    await this.connection.close()
  }

  private deliver(topic: string, payload: string): void {
    if (payload !== FOR_REDISSON) {
      this.subscriptions.get(topic)?.onMessage(payload)
    }
  }

  private subscribeToAll(): void {
    const topics = [...this.subscriptions]
    const isReconnect = this.wasReady
    this.wasReady = true
    this.retry?.cancel()
    if (this.closed || topics.length === 0) {
      return
    }
    this.connection.subscribe(topics.map(([topic]) => topic)).then(
      () => {
        topics.forEach(([topic, subscription]) => this.confirm(topic, subscription))
        if (isReconnect) {
          this.listeners.tell()
        }
      },
      // A refusal (ACL) is reported to the waiting subscribers.
      (error: unknown) => {
        topics.forEach(([topic, subscription]) => this.fail(topic, subscription, error))
        if (!this.closed) {
          this.subscribeLater()
        }
      },
    )
  }

  /**
   * If the connection broke again, its next `ready` subscribes. A connection that stays up, to a Redis that refuses
   * temporarily (BUSY), has no next `ready`: without a retry, earlier subscriptions would stay lost.
   */
  private subscribeLater(): void {
    this.retry = this.runtime.setTimer(REFUSED_PAUSE_MS, () => {
      if (this.connection.isReady) {
        this.subscribeToAll()
      }
    })
  }

  private confirm(topic: string, subscription: Subscription): void {
    const wanted = this.subscriptions.get(topic)
    if (wanted === subscription) {
      subscription.confirmed = true
      subscription.waiting.splice(0).forEach(({ resolve }) => resolve())
    } else if (!wanted && this.connection.isReady) {
      // Cancelled while disconnected; ioredis then resent the command that was in flight on the previous connection.
      this.connection.unsubscribe(topic).catch(() => undefined)
    }
  }

  /**
   * Rejects and forgets subscriptions that are not confirmed yet; confirmed ones are kept for the next `ready`. So
   * are all when the connection itself failed: node-redis rejects what ioredis would resend.
   */
  private fail(topic: string, subscription: Subscription, error: unknown): void {
    const isRefusal = this.connection.isReady
    if (isRefusal && !subscription.confirmed && this.subscriptions.get(topic) === subscription) {
      this.subscriptions.delete(topic)
      subscription.waiting.splice(0).forEach(({ reject }) => reject(error))
    }
  }
}
