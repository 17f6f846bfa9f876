import type { TopicSubscriptions } from './topic-subscriptions.js'

/** The single subscription of a line: started at the first refusal, kept until the line is empty. */
export class LineSubscription {
  isConfirmed = false
  private topic: string | undefined = undefined

  constructor(
    private readonly topics: TopicSubscriptions,
    private readonly on: { readonly onMessage: () => void; readonly onConfirmed: () => void },
  ) {}

  /** Subscribes, once per topic. After a failure the next call tries again. */
  follow(topic: string): void {
    if (topic === this.topic) {
      return
    }
    this.drop()
    this.topic = topic
    this.topics.add(topic, this.on.onMessage).then(
      // I4: a message between the last attempt and the confirmation was lost, so the confirmation counts as one.
      () => {
        this.isConfirmed = this.topic === topic
        this.on.onConfirmed()
      },
      () => {
        if (this.topic === topic) {
          this.topic = undefined
        }
      },
    )
  }

  drop(): void {
    if (this.topic === undefined) {
      return
    }
    void this.topics.remove(this.topic, this.on.onMessage)
    this.topic = undefined
    this.isConfirmed = false
  }
}
