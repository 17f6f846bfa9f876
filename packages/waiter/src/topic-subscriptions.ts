import { runQuietly } from './run-quietly.js'
import type { WakeSource } from './wake-source.js'

type Listener = (payload: string) => void

/** One subscription per topic, shared by all its listeners. */
export class TopicSubscriptions {
  private readonly topics = new Map<string, Topic>()
  private closed = false

  /** Takes the source; subscribes to nothing yet. */
  constructor(private readonly source: WakeSource) {}

  /**
   * Adds a listener; resolves when the source has confirmed the topic. Messages may arrive before that. A listener
   * added twice is called once per message and must be removed twice. Exceptions of the listener are ignored.
   *
   * @throws the source's rejection, or an Error after `close`; the listener is then not registered.
   */
  async add(topic: string, listener: Listener): Promise<void> {
    if (!this.closed) {
      await this.open(topic).add(listener)
    }
    if (this.closed) {
      throw new Error(`The subscriptions are closed; cannot listen to ${topic}`)
    }
  }

  /** Returns whether the topic was subscribed as of the source's last confirmation; undefined during a request. */
  isLive(topic: string): boolean | undefined {
    const known = this.topics.get(topic)
    return known ? known.isLive : false
  }

  /** Has the source look whether it is still connected, where it can. */
  check(): void {
    this.source.check?.()
  }

  /** Resolves when the topic is unsubscribed, if this was the last listener. Never rejects. */
  async remove(topic: string, listener: Listener): Promise<void> {
    await this.topics.get(topic)?.remove(listener)
  }

  /**
   * Removes all listeners. Resolves when the source has replied for every topic; never rejects. May be called twice.
   */
  async close(): Promise<void> {
    this.closed = true
    await Promise.all([...this.topics.values()].map((topic) => topic.clear()))
  }

  private open(name: string): Topic {
    let topic = this.topics.get(name)
    if (!topic) {
      topic = new Topic(name, this.source, () => this.topics.delete(name))
      this.topics.set(name, topic)
    }
    return topic
  }
}

/**
 * One topic. `listeners` is the wanted state, `isLive` the state last confirmed by the source; a single loop brings the
 * second to the first. Only this loop calls the source, so calls for one topic never overlap, and an `add` during an
 * unsubscription becomes the loop's next round.
 */
class Topic {
  private readonly listeners = new Map<Listener, number>()
  /** Undefined: a request to the source is in flight. Written only here. */
  isLive: boolean | undefined = false
  private settling: Promise<void> | undefined = undefined

  constructor(
    private readonly name: string,
    private readonly source: WakeSource,
    private readonly onIdle: () => void,
  ) {}

  add(listener: Listener): Promise<void> {
    this.listeners.set(listener, (this.listeners.get(listener) ?? 0) + 1)
    return this.settle()
  }

  remove(listener: Listener): Promise<void> {
    const count = this.listeners.get(listener)
    if (count === undefined) {
      return Promise.resolve()
    }
    if (count > 1) {
      this.listeners.set(listener, count - 1)
    } else {
      this.listeners.delete(listener)
    }
    return this.listeners.size > 0 ? Promise.resolve() : this.settleQuietly()
  }

  clear(): Promise<void> {
    this.listeners.clear()
    return this.settleQuietly()
  }

  private get wanted(): boolean {
    return this.listeners.size > 0
  }

  private settle(): Promise<void> {
    // Also cancels an unsubscription that has not been sent yet.
    if (this.wanted === this.isLive) {
      return Promise.resolve()
    }
    if (this.settling) {
      return this.settling
    }
    // The loop awaits at least once before it resets `settling`, so this assignment comes first.
    return (this.settling = this.runLoop())
  }

  private settleQuietly(): Promise<void> {
    return this.settle().catch(() => undefined)
  }

  private async runLoop(): Promise<void> {
    try {
      while (this.wanted !== this.isLive) {
        await (this.wanted ? this.subscribe() : this.unsubscribe())
      }
    } catch (error) {
      // All current listeners have been waiting for this confirmation.
      this.listeners.clear()
      throw error
    } finally {
      this.settling = undefined
      if (!this.isLive) {
        this.onIdle()
      }
    }
  }

  private async subscribe(): Promise<void> {
    this.isLive = undefined
    let isLive = false
    try {
      await this.source.subscribe(this.name, (payload) => this.deliver(payload))
      isLive = true
    } finally {
      this.isLive = isLive
    }
  }

  private async unsubscribe(): Promise<void> {
    if (this.source.beforeUnsubscribe) {
      await this.source.beforeUnsubscribe()
    }
    if (this.wanted) {
      return
    }
    this.isLive = undefined
    try {
      await this.source.unsubscribe(this.name)
    } catch {
      // No listener is left to report the error to, and a broken connection has no subscriptions.
    }
    this.isLive = false
  }

  private deliver(payload: string): void {
    // A copy: a listener that removes and re-adds itself would be visited for ever.
    for (const listener of [...this.listeners.keys()]) {
      runQuietly(() => listener(payload))
    }
  }
}
