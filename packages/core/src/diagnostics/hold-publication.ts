import type { LossReason } from '../errors.js'
import { oncePerProcess } from '../runtime/once-per-process.js'
import type { RequestedHold } from './call-publication.js'
import { holdBegun, holdEnded } from './channels.js'
import type { LockKind, ObservedHold } from './messages.js'

/** Shared by all copies of this package: a subscriber that compares serials receives the messages of all of them. */
const published = oncePerProcess('holds published', () => ({ holds: 0 }))

/** One hold as it is published; itself the message. Reads no clock, like a published call. */
export class HoldPublication implements ObservedHold {
  phase: 'begun' | 'ended' = 'begun'
  readonly lockName: string
  readonly kind: LockKind
  readonly serial: number
  outcome: 'released' | 'lost' | 'unknown' | undefined = undefined
  reason: LossReason | undefined = undefined
  heldMs: number | undefined = undefined

  constructor(
    { lockName, kind }: RequestedHold,
    readonly owner: string,
    readonly clientId: string,
    readonly startedAt: number,
  ) {
    this.lockName = lockName
    this.kind = kind
    this.serial = published.holds += 1
    holdBegun.publish(this)
  }

  /** The work under the hold has ended, whatever the outcome of the release. */
  over(now: number): void {
    this.heldMs ??= now - this.startedAt
  }

  /** Published once: a release that finds a loss already published does not repeat it. */
  lost(reason: LossReason, now: number): void {
    if (this.phase === 'begun') {
      this.over(now)
      this.reason = reason
      this.ended('lost')
    }
  }

  /** The release has settled. */
  ended(outcome: 'released' | 'lost' | 'unknown'): void {
    if (this.phase === 'begun') {
      this.phase = 'ended'
      this.outcome = outcome
      holdEnded.publish(this)
    }
  }
}
