import type { TopicSubscriptions } from '@holdfast/waiter'
import { INBOX_PREFIX } from './keys.js'
import type { Session } from './session.js'

// Before the owner whose turn it is; no client name has a colon in it.
const TURN = 'turn:'

/** What other clients tell this one: whose turn it is, or, an owner alone, whose hold was released by force. */
export class ClientInbox {
  private opening: Promise<void> | null = null
  private readonly channel: string

  constructor(
    private readonly topics: TopicSubscriptions,
    private readonly session: Pick<Session, 'clientId' | 'held' | 'fairWaiters'>,
  ) {
    this.channel = INBOX_PREFIX + session.clientId
  }

  /** Subscribes unless it has. Never rejects: a failure is forgotten, and the next call tries again. */
  open(): Promise<void> {
    this.opening ??= this.topics
      .add(this.channel, (payload) => this.read(payload))
      .then(
        // A turn that was announced before this moment reached nobody (I4).
        () => this.session.fairWaiters.wakeEverybody(),
        () => {
          this.opening = null
        },
      )
    return this.opening
  }

  private read(payload: string): void {
    if (payload.startsWith(TURN)) {
      this.session.fairWaiters.wake(payload.slice(TURN.length))
    } else {
      this.session.held.all.find((each) => each.commands.field.isNamed(payload))?.lose('forced')
    }
  }
}
