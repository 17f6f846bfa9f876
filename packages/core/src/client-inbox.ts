import type { TopicSubscriptions } from '@holdfast/waiter'
import type { HeldLocks } from './held-locks.js'
import { INBOX_PREFIX } from './keys.js'

/** What other clients tell this one: that a hold of its was released by force. The payload is the owner. */
export class ClientInbox {
  private opening: Promise<void> | null = null
  private readonly channel: string

  constructor(
    private readonly topics: TopicSubscriptions,
    private readonly held: HeldLocks,
    clientId: string,
  ) {
    this.channel = INBOX_PREFIX + clientId
  }

  /** Subscribes unless it has. Never rejects: a failure is forgotten, and the next call tries again. */
  open(): Promise<void> {
    this.opening ??= this.topics
      .add(this.channel, (owner) => this.held.all.find((each) => each.owner === owner)?.lose('forced'))
      .catch(() => {
        this.opening = null
      })
    return this.opening
  }
}
