import type { TopicSubscriptions } from '@holdfast/waiter'
import type { GrantMessage } from '../pass/grants.js'
import { warn } from '../events.js'
import { INBOX_PREFIX, ownerField, probeKey, PROTOCOL } from '../keys.js'
import { codeOf } from '../redis/failures.js'
import { mayPublish } from '../scripts/lock.js'
import type { OpenSession } from './open-session.js'

// Messages start with a protocol version. A bare owner has none: it starts with a client name, and has a ~ before its
// first colon.
const NUMBER = /^(\d+):/
// Prefix of the owner whose turn it is; client names contain no colon.
const TURN = 'turn:'
// Prefix of a grant: a proof and a colon (absent in version 1), the end of the grant in Redis ms and a colon, the
// owner that holds the lock; after each comma the thread id of a waiter directly behind it.
const GRANT = 'grant:'

const NO_CHANNELS =
  "This user of Redis has no rights on the channels of locks, as made by 'ACL SETUSER app ~* +@all' on Redis 7: waiters are " +
  'not woken, but ask once per resyncInterval, and a forced release is noticed late. Give it the channels that ' +
  "docs/acl.md lists, or all: '&*'."

/**
 * Receives the messages addressed to this client: a grant to one of its waiters, the turn of a waiter to try, or a
 * bare owner whose hold was released by force.
 */
export class ClientChannel {
  private readonly channel: string
  private opening: Promise<void> | null = null
  private isToldOf = false

  constructor(
    private readonly topics: TopicSubscriptions,
    private readonly session: Pick<
      OpenSession,
      'clientId' | 'runner' | 'held' | 'idleLocks' | 'fairQueue' | 'grantReceiver'
    >,
  ) {
    this.channel = INBOX_PREFIX + session.clientId
  }

  /** Subscribes, once. Never rejects: after a failure the next call tries again. */
  open(): Promise<void> {
    this.opening ??= this.topics
      .add(this.channel, (payload) => this.read(payload))
      .then(
        // A turn announced before the subscription was confirmed was lost (I4).
        () => {
          this.session.grantReceiver.isSubscribed = true
          this.session.fairQueue.wakeEverybody()
        },
        (error: unknown) => {
          this.opening = null
          if (error instanceof Error && codeOf(error) === 'NOPERM') {
            this.tell()
          }
        },
      )
    return this.opening
  }

  /** Tells where this user may not publish on the channel. Never rejects: a Redis that does not say is no error. */
  async check(): Promise<void> {
    const { runner, clientId } = this.session
    if (!(await mayPublish(runner, probeKey(clientId), this.channel).catch(() => true))) {
      this.tell()
    }
  }

  /** Once: what a user may not hear, it mostly may not say either. */
  private tell(): void {
    if (!this.isToldOf) {
      this.isToldOf = true
      warn('HOLDFAST_NO_CHANNELS', NO_CHANNELS)
    }
  }

  /** Ignores messages of a protocol version that this release does not know. */
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
      const { held, idleLocks } = this.session
      const isNamed = ({ field }: { readonly field: { isNamed(owner: string): boolean } }): boolean =>
        field.isNamed(text)
      const named = held.all.find(isNamed) ?? idleLocks?.all.find(isNamed)
      named?.lease.doubtForced()
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

/** Parses `CLIENT:5,6,7` into the first owner and those behind it. Client ids contain no colon. */
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
