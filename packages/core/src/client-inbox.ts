import type { TopicSubscriptions } from '@holdfast/waiter'
import { INBOX_PREFIX, ownerField } from './keys.js'
import type { Session } from './session.js'

// Before the owner whose turn it is; no client name has a colon in it.
const TURN = 'turn:'
// Before until when, ms of Redis, a colon, and an owner that has the lock; behind each comma the thread id of one that
// stands directly behind it.
const GRANT = 'grant:'

/**
 * What other clients tell this one: who of its waiters was given a lock, or whose turn it is to try; or, an owner alone,
 * whose hold was released by force.
 */
export class ClientInbox {
  private opening: Promise<void> | null = null
  private readonly channel: string

  constructor(
    private readonly topics: TopicSubscriptions,
    private readonly session: Pick<Session, 'clientId' | 'held' | 'fairWaiters' | 'grants'>,
  ) {
    this.channel = INBOX_PREFIX + session.clientId
  }

  /** Subscribes unless it has. Never rejects: a failure is forgotten, and the next call tries again. */
  open(): Promise<void> {
    this.opening ??= this.topics
      .add(this.channel, (payload) => this.read(payload))
      .then(
        // A turn that was announced before this moment reached nobody (I4).
        () => {
          this.session.grants.areHeard = true
          this.session.fairWaiters.wakeEverybody()
        },
        () => {
          this.opening = null
        },
      )
    return this.opening
  }

  private read(payload: string): void {
    const { fairWaiters, grants } = this.session
    if (payload.startsWith(GRANT)) {
      const end = payload.indexOf(':', GRANT.length)
      const [owner, behind] = ownersIn(payload.slice(end + 1))
      grants.given(owner, Number(payload.slice(GRANT.length, end)), behind)
    } else if (payload.startsWith(TURN)) {
      fairWaiters.wake(payload.slice(TURN.length))
    } else {
      this.session.held.all.find((each) => each.field.isNamed(payload))?.doubtForced()
    }
  }
}

/** `CLIENT:5,6,7`: the first of these, and those behind it. No client id has a colon. */
function ownersIn(text: string): [owner: string, behind: string[]] {
  const colon = text.indexOf(':')
  const end = text.indexOf(',', colon)
  if (end === -1) {
    return [text, []]
  }
  const clientId = text.slice(0, colon)
  const threadIds = text.slice(end + 1).split(',')
  return [text.slice(0, end), threadIds.map((id) => ownerField(clientId, Number(id)))]
}
