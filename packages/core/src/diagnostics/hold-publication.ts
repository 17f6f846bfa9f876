import type { LossReason } from '../errors.js'
import { oncePerProcess } from '../runtime/once-per-process.js'
import { holdBegun, holdEnded } from './channels.js'
import type { LockKind, ObservedHold } from './messages.js'

/** What is held, and by whom. */
export interface HeldThing {
  readonly lockName: string
  readonly kind: LockKind
  readonly owner: string
}

/** Of all copies of this package: whoever compares serials hears all of them. */
const published = oncePerProcess('holds published', () => ({ holds: 0 }))

/** One hold as it is published: the message itself. It reads no clock, as that of a call. */
export class HoldPublication implements ObservedHold {
  phase: 'begun' | 'ended' = 'begun'
  readonly lockName: string
  readonly kind: LockKind
  readonly owner: string
  readonly serial: number
  outcome: 'released' | 'lost' | 'unknown' | undefined = undefined
  reason: LossReason | undefined = undefined
  heldMs: number | undefined = undefined

  constructor(
    held: HeldThing,
    readonly clientId: string,
    readonly startedAt: number,
  ) {
    this.lockName = held.lockName
    this.kind = held.kind
    this.owner = held.owner
    this.serial = published.holds += 1
    holdBegun.publish(this)
  }

  /** Whatever comes of its release, it is not used any more. */
  over(now: number): void {
    this.heldMs ??= now - this.startedAt
  }

  /** Once: a loss that was told is not told again by the release that finds it. */
  lost(reason: LossReason, now: number): void {
    if (this.phase === 'begun') {
      this.over(now)
      this.reason = reason
      this.ended('lost')
    }
  }

  /** What came of its release. */
  ended(outcome: 'released' | 'lost' | 'unknown'): void {
    if (this.phase === 'begun') {
      this.phase = 'ended'
      this.outcome = outcome
      holdEnded.publish(this)
    }
  }
}

/** Whether anybody hears of a hold that begins now. */
export function isHoldSeen(): boolean {
  return holdEnded.hasSubscribers || holdBegun.hasSubscribers
}

/** Null where nobody subscribes. */
export function publishHold(
  { clientId }: { readonly clientId: string },
  held: HeldThing,
  startedAt: number,
): HoldPublication | null {
  return isHoldSeen() ? new HoldPublication(held, clientId, startedAt) : null
}
