import type { WakeSource } from '../src/index.js'

type Listener = (payload: string) => void
type Verb = 'subscribe' | 'unsubscribe'

/** A source that answers at once, unless told to hold or to fail, and notes every breach of its contract. */
export class FakeWakeSource implements WakeSource {
  readonly subscribed = new Map<string, Listener>()
  readonly calls: string[] = []
  readonly breaches: string[] = []
  readonly resubscribedListeners = new Set<() => void>()
  failing: Verb[] = []
  /** Absent: there is time at once. */
  beforeUnsubscribe?: () => Promise<void>
  private readonly busy = new Set<string>()
  private held: (() => void)[] | undefined

  subscribe(topic: string, onMessage: Listener): Promise<void> {
    if (this.subscribed.has(topic)) this.breaches.push(`${topic} is subscribed already`)
    return this.perform('subscribe', topic, () => this.subscribed.set(topic, onMessage))
  }

  unsubscribe(topic: string): Promise<void> {
    return this.perform('unsubscribe', topic, () => this.subscribed.delete(topic))
  }

  onResubscribed(listener: () => void): () => void {
    this.resubscribedListeners.add(listener)
    return () => void this.resubscribedListeners.delete(listener)
  }

  /** From now on nothing is answered. */
  hold(): void {
    this.held = []
  }

  /** Answers what is held, in order, and everything after it at once. */
  release(): void {
    const held = this.held ?? []
    this.held = undefined
    for (const answer of held) answer()
  }

  publish(topic: string, payload = ''): void {
    this.subscribed.get(topic)?.(payload)
  }

  /** The connection broke and is back. */
  resubscribed(): void {
    for (const listener of this.resubscribedListeners) listener()
  }

  private async perform(verb: Verb, topic: string, effect: () => unknown): Promise<void> {
    this.calls.push(`${verb} ${topic}`)
    if (this.busy.has(topic)) this.breaches.push(`${verb} ${topic} overlaps another call`)
    this.busy.add(topic)
    const { held } = this
    if (held) await new Promise<void>((answer) => held.push(answer))
    else await Promise.resolve()
    this.busy.delete(topic)
    if (this.failing.includes(verb)) throw new Error(`${verb} failed`)
    effect()
  }
}
