import { runQuietly } from './run-quietly.js'
import type { WakeSource } from './wake-source.js'

type Listener = (payload: string) => void

/** One subscription per topic, however many listen to it. */
export class TopicSubscriptions {
  private readonly topics = new Map<string, Topic>()
  private closed = false

  constructor(private readonly source: WakeSource) {}

  /**
   * Resolves when the source has confirmed the topic. The listener may hear messages before that. Added
   * twice, it hears a message once and has to be removed twice. What it throws is ignored.
   *
   * @throws what the source rejects with, and an Error after `close`; the listener is then not registered.
   */
  async add(topic: string, listener: Listener): Promise<void> {
    if (!this.closed) await this.open(topic).add(listener)
    if (this.closed) throw new Error(`The subscriptions are closed; cannot listen to ${topic}`)
  }

  /** Whether the source has it, as it last confirmed; undefined while it is being asked. */
  isLive(topic: string): boolean | undefined {
    const known = this.topics.get(topic)
    return known ? known.isLive : false
  }

  /** Resolves when the topic is unsubscribed, if this was the last listener. Never rejects. */
  async remove(topic: string, listener: Listener): Promise<void> {
    await this.topics.get(topic)?.remove(listener)
  }

  /** Drops all listeners. Resolves when the source has answered for every topic; never rejects. Safe twice. */
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
 * One topic. Listeners say what is wanted, `live` what the source last confirmed, and one loop at a time
 * brings the second to the first. Because only the loop talks to the source, calls for one topic never
 * overlap, and an add that meets an unsubscribe in flight is the loop's next round.
 */
class Topic {
  private readonly listeners = new Map<Listener, number>()
  private live = false
  /** The source has not answered yet. */
  private isAsking = false
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
    if (count === undefined) return Promise.resolve()
    if (count > 1) this.listeners.set(listener, count - 1)
    else this.listeners.delete(listener)
    return this.listeners.size > 0 ? Promise.resolve() : this.settleQuietly()
  }

  get isLive(): boolean | undefined {
    return this.isAsking ? undefined : this.live
  }

  clear(): Promise<void> {
    this.listeners.clear()
    return this.settleQuietly()
  }

  private get wanted(): boolean {
    return this.listeners.size > 0
  }

  private settle(): Promise<void> {
    // Also when it was about to be unsubscribed.
    if (this.wanted === this.live && !this.isAsking) return Promise.resolve()
    if (this.settling) return this.settling
    // The loop awaits at least once before it resets `settling`, so this assignment comes first.
    return (this.settling = this.runLoop())
  }

  private settleQuietly(): Promise<void> {
    return this.settle().catch(() => undefined)
  }

  private async runLoop(): Promise<void> {
    try {
      while (this.wanted !== this.live) await (this.wanted ? this.subscribe() : this.unsubscribe())
    } catch (error) {
      // Everyone who listens, or came while this failed, has been waiting for this very confirmation.
      this.listeners.clear()
      throw error
    } finally {
      this.settling = undefined
      if (!this.live) this.onIdle()
    }
  }

  private async subscribe(): Promise<void> {
    this.isAsking = true
    try {
      await this.source.subscribe(this.name, (payload) => this.deliver(payload))
      this.live = true
    } finally {
      this.isAsking = false
    }
  }

  private async unsubscribe(): Promise<void> {
    if (this.source.beforeUnsubscribe) await this.source.beforeUnsubscribe()
    if (this.wanted) return
    this.isAsking = true
    try {
      await this.source.unsubscribe(this.name)
    } catch {
      // Nobody is left whom the error could concern, and a broken connection has no subscriptions.
    }
    this.isAsking = false
    this.live = false
  }

  private deliver(payload: string): void {
    // A copy: a listener that removes and adds itself would be visited for ever.
    for (const listener of [...this.listeners.keys()]) runQuietly(() => listener(payload))
  }
}
