import type { TopicSubscriptions } from '@holdfast/waiter'
import { redissonWakeUpChannel } from '../keys.js'
import type { FairLine } from '../scripts/fair-lock.js'

/** A waiter that a Redisson client may call. */
interface CalledWaiter {
  readonly owner: string
  /** Unsubscribes; null while not subscribed. */
  stopListening: (() => void) | null
}

/** Redisson announces the release of a fair lock on a channel of the first waiter's own. */
export class RedissonWakeUpChannel {
  constructor(
    private readonly topics: TopicSubscriptions,
    private readonly wake: (owner: string) => void,
  ) {}

  /** Subscribes, once. */
  listen({ channels }: FairLine, called: CalledWaiter): void {
    if (called.stopListening) {
      return
    }
    const topic = redissonWakeUpChannel(channels[1], called.owner)
    const onMessage = (): void => this.wake(called.owner)
    called.stopListening = () => void this.topics.remove(topic, onMessage)
    // A message before the subscription was confirmed is lost: the confirmation counts as one (I4).
    this.topics.add(topic, onMessage).then(onMessage, () => {
      called.stopListening = null
    })
  }
}
