import type { TopicSubscriptions } from '@holdfast/waiter'
import type { GrantMessage } from '../queue/grants.js'
import { INBOX_PREFIX, ownerField, PROTOCOL } from '../keys.js'
import type { Session } from './session.js'

// The number of a protocol before anything else. An owner alone, which has no number, begins with the name of a client, and
// has a ~ before its first colon.
const NUMBER = /^(\d+):/
// Before the owner whose turn it is; no client name has a colon in it.
const TURN = 'turn:'
// Before a proof and a colon (the first protocol has neither), until when, ms of Redis, a colon, and an owner that has the
// lock; behind each comma the thread id of one that stands directly behind it.
const GRANT = 'grant:'

/**
 * What other clients tell this one: who of its waiters was given a lock, or whose turn it is to try; or, an owner alone,
 * whose hold was released by force.
 */
export class ClientChannel {
  private opening: Promise<void> | null = null
  private readonly channel: string

  constructor(
    private readonly topics: TopicSubscriptions,
    private readonly session: Pick<Session, 'clientId' | 'held' | 'fairQueue' | 'grantReceiver'>,
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
          this.session.grantReceiver.isSubscribed = true
          this.session.fairQueue.wakeEverybody()
        },
        () => {
          this.opening = null
        },
      )
    return this.opening
  }

  /** What a later version says in a protocol of its own is nothing to this one. */
  private read(payload: string): void {
    const [before = '', number] = NUMBER.exec(payload) ?? []
    if (number === undefined) {
      this.readText(payload, false)
    } else if (Number(number) === PROTOCOL) {
      this.readText(payload.slice(before.length), true)
    }
  }

  private readText(text: string, hasProof: boolean): void {
    const { fairQueue, grantReceiver } = this.session
    if (text.startsWith(GRANT)) {
      grantReceiver.onGrant(grantIn(text.slice(GRANT.length), hasProof))
    } else if (text.startsWith(TURN)) {
      fairQueue.wake(text.slice(TURN.length))
    } else {
      this.session.held.all.find((each) => each.field.isNamed(text))?.doubtForced()
    }
  }
}

function grantIn(told: string, hasProof: boolean): GrantMessage {
  const start = hasProof ? told.indexOf(':') + 1 : 0
  const text = told.slice(start)
  const end = text.indexOf(':')
  const [owner, behind] = ownersIn(text.slice(end + 1))
  const proof = told.slice(0, Math.max(0, start - 1))
  return { owner, until: Number(text.slice(0, end)), behind, text, proof }
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
