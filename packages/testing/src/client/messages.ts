import type { Runtime } from '@holdfast/core'
import { Line, type Server } from './line.js'

/** Messages for Redisson's waiters besides a message that has woken ours already. */
const FOR_REDISSON = '00'

/** Subscriptions, on a line of their own that is opened with the first. */
export class Messages {
  private line: Line | null = null
  private readonly topics = new Map<string, (payload: string) => void>()
  private readonly listeners = new Set<() => void>()

  constructor(
    private readonly runtime: Runtime,
    private readonly server: Server,
  ) {}

  async subscribe(topic: string, onMessage: (payload: string) => void): Promise<void> {
    this.topics.set(topic, onMessage)
    this.line ??= this.opened()
    try {
      await this.confirm(this.line, topic)
    } catch (error) {
      if (this.topics.get(topic) === onMessage) {
        this.topics.delete(topic)
      }
      throw error
    }
  }

  async unsubscribe(topic: string): Promise<void> {
    this.topics.delete(topic)
    if (this.line?.isOpen) {
      await this.line.command(['UNSUBSCRIBE', topic])
    }
  }

  beforeUnsubscribe(): Promise<void> {
    return new Promise((resolve) => this.runtime.afterTurn(resolve))
  }

  onResubscribed(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  close(): void {
    this.line?.close()
    this.listeners.clear()
    this.topics.clear()
  }

  /** Resolves once the server has subscribed, now or when there is a connection again. */
  private async confirm(line: Line, topic: string): Promise<void> {
    if (!line.isOpen) {
      await new Promise<void>((resolve) => this.waiting.push(resolve))
    }
    await line.command(['SUBSCRIBE', topic], () => this.topics.has(topic))
  }

  private readonly waiting: (() => void)[] = []

  private opened(): Line {
    const line = new Line(this.runtime, this.server, {
      changed: () => {
        if (line.isOpen) {
          this.waiting.splice(0).forEach((resolve) => resolve())
          void this.subscribeAgain(line)
        }
      },
      message: (topic, payload) => {
        if (payload !== FOR_REDISSON) {
          this.topics.get(topic)?.(payload)
        }
      },
    })
    return line
  }

  private async subscribeAgain(line: Line): Promise<void> {
    const topics = [...this.topics.keys()]
    if (topics.length > 0) {
      // A refusal is found by the next wait: its own subscription is refused.
      await line.command(['SUBSCRIBE', ...topics]).then(
        () => [...this.listeners].forEach((listener) => listener()),
        () => undefined,
      )
    }
  }
}
