/** Delivers the payloads published on topics. At-most-once delivery is enough. */
export interface WakeSource {
  /**
   * Subscribes to a topic. Resolves once every message published from now on will be delivered; rejects if the topic
   * is not subscribed. For the same topic, called again only after `unsubscribe` or a rejection.
   */
  subscribe(topic: string, onMessage: (payload: string) => void): Promise<void>
  /** Unsubscribes from a topic. A rejection is ignored. */
  unsubscribe(topic: string): Promise<void>
  /**
   * Resolves when it is a good time to unsubscribe; until then the topic may be wanted again. Must not reject.
   * Default: at once.
   */
  beforeUnsubscribe?(): Promise<void>
  /**
   * Lets the source look whether its connection still leads anywhere: a caller has found without a message what a message
   * should have told. Must not throw.
   */
  check?(): void
  /**
   * Calls `listener` whenever a lost connection is back and all topics are subscribed again: messages published in
   * between are lost. Returns a function that removes the listener.
   */
  onResubscribed(listener: () => void): () => void
}
