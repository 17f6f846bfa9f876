import type { WakeSource } from '@holdfast/waiter'
import { FOR_REDISSON } from '../keys.js'
import { afterThisTick, backgroundClock } from '../runtime/time.js'
import { Listeners } from './listeners.js'

const LONGEST_RECONNECT_PAUSE_MS = 2_000
const REFUSED_PAUSE_MS = 500

interface Subscription {
  readonly onMessage: (payload: string) => void
  readonly waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[]
  confirmed: boolean
}

/** What a connection for messages tells. */
export interface MessageEvents {
  /** It is ready, for the first time or again; nothing is subscribed on it. */
  ready(): void
  message(topic: string, payload: string): void
}

/** A connection for messages, as each client makes it. It never gives up for good: waiters would be deaf then. */
export interface MessageConnection {
  readonly isReady: boolean
  /** Begins to connect, unless it has. */
  open(): void
  /** Resolves when Redis has confirmed all. Rejected while still ready: Redis refuses them. */
  subscribe(topics: string[]): Promise<unknown>
  unsubscribe(topic: string): Promise<unknown>
  close(): Promise<void>
}

/** @param attempt from 1. @returns how long to wait before it, ms */
export function reconnectPause(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 10), LONGEST_RECONNECT_PAUSE_MS)
}

/**
 * What is subscribed to, on a second connection that is opened with the first subscription. Subscribing again after
 * a lost connection is done here and not by the client: that of ioredis is not confirmed when it says `ready`, and
 * its failure is nobody's promise; that of node-redis fails the whole connection with it.
 */
export class Subscriptions implements WakeSource {
  private readonly connection: MessageConnection
  private readonly subscriptions = new Map<string, Subscription>()
  private readonly listeners = new Listeners()
  private wasReady = false
  private closed = false
  private retry: { cancel(): void } | null = null

  constructor(connect: (events: MessageEvents) => MessageConnection) {
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
    // Otherwise `subscribeToAll` does.
    return confirmed
  }

  /** It is a write to a socket: whoever got what nobody has to be told of any more runs first. */
  beforeUnsubscribe(): Promise<void> {
    return new Promise((resolve) => afterThisTick(resolve))
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
      // Given up while there was no connection, on which ioredis then sent again what was under way on the last one.
      this.connection.unsubscribe(topic).catch(() => undefined)
    }
  }

  /**
   * Whoever still waits is told and forgotten; what was confirmed before stays wanted for the next `ready`. So does
   * everything when it was the connection that failed: node-redis rejects what ioredis would send again.
   */
  private fail(topic: string, subscription: Subscription, error: unknown): void {
    const isRefusal = this.connection.isReady
    if (isRefusal && !subscription.confirmed && this.subscriptions.get(topic) === subscription) {
      this.subscriptions.delete(topic)
      subscription.waiting.splice(0).forEach(({ reject }) => reject(error))
    }
  }
}
