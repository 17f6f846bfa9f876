import type { LossReason } from '../errors.js'
import type { Session } from '../session.js'
import { holds } from './channels.js'
import type { LockKind, ObservedHold } from './messages.js'

/** What is held, and by whom. */
export interface HeldThing {
  readonly lockName: string
  readonly kind: LockKind
  readonly owner: string
}

/** One hold as it is published: the message itself. */
export class HoldPublication implements ObservedHold {
  phase: 'begun' | 'ended' = 'begun'
  readonly lockName: string
  readonly kind: LockKind
  readonly clientId: string
  readonly owner: string
  outcome: 'released' | 'lost' | 'unknown' | undefined = undefined
  reason: LossReason | undefined = undefined
  heldMs: number | undefined = undefined
  readonly #session: Pick<Session, 'clientId' | 'clock'>
  readonly #startedAt: number

  constructor(session: Pick<Session, 'clientId' | 'clock'>, { lockName, kind, owner }: HeldThing) {
    this.#session = session
    this.#startedAt = session.clock.now()
    this.lockName = lockName
    this.kind = kind
    this.clientId = session.clientId
    this.owner = owner
    holds.publish(this)
  }

  /** Whatever comes of its release, it is not used any more. */
  over(): void {
    this.heldMs = this.#session.clock.now() - this.#startedAt
  }

  /** Once: a loss that was told is not told again by the release that finds it. */
  ended(outcome: 'released' | 'lost' | 'unknown', reason?: LossReason): void {
    if (this.phase === 'ended') {
      return
    }
    if (this.heldMs === undefined) {
      this.over()
    }
    this.phase = 'ended'
    this.outcome = outcome
    this.reason = reason
    holds.publish(this)
  }
}

/** Null where nobody subscribes. */
export function publishHold(
  session: Pick<Session, 'clientId' | 'clock'>,
  held: HeldThing,
): HoldPublication | null {
  return holds.hasSubscribers ? new HoldPublication(session, held) : null
}
