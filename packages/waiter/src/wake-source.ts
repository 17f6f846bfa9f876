/** Where messages come from: whatever can deliver a payload on a topic. Delivery at most once is enough. */
export interface WakeSource {
  /**
   * Resolves once every message published from now on will arrive. A rejection means: not subscribed.
   * Called for one topic again only after an `unsubscribe` of it, or after a rejection.
   */
  subscribe(topic: string, onMessage: (payload: string) => void): Promise<void>
  unsubscribe(topic: string): Promise<void>
  /** Resolves when there is time to unsubscribe. Until then the topic may be wanted again. Default: at once. */
  beforeUnsubscribe?(): Promise<void>
  /**
   * Calls `listener` each time a lost connection is back and all topics are subscribed again: what was
   * published in between never arrives. Returns what removes the listener.
   */
  onResubscribed(listener: () => void): () => void
}
