import type { TopicSubscriptions } from './topic-subscriptions.js'

/** The one subscription of a line: begun at the first refusal, kept until the line is empty. */
export class LineSubscription {
  isConfirmed = false
  private topic: string | undefined = undefined

  constructor(
    private readonly topics: TopicSubscriptions,
    private readonly on: { readonly onMessage: () => void; readonly onConfirmed: () => void },
  ) {}

  /** Subscribes, unless that is done or under way. A failure is forgotten: the next call tries again. */
  follow(topic: string): void {
    if (topic === this.topic) return
    this.drop()
    this.topic = topic
    this.topics.add(topic, this.on.onMessage).then(
      // I4: a message published between the last attempt and this moment went to nobody.
      () => {
        this.isConfirmed = this.topic === topic
        this.on.onConfirmed()
      },
      () => {
        if (this.topic === topic) this.topic = undefined
      },
    )
  }

  drop(): void {
    if (this.topic === undefined) return
    void this.topics.remove(this.topic, this.on.onMessage)
    this.topic = undefined
    this.isConfirmed = false
  }
}
