import { settleWithin } from '../runtime/settle-within.js'
import { CompoundCall } from './compound-call.js'
import type { LockServices } from '../locks/services.js'
import type { Member, MemberHold } from './member.js'
import { NodeHealth } from './node-health.js'

/** A hold that can do without some of its nodes, and take them again. */
export interface RetakingHold {
  readonly levels: readonly MemberHold[]
  /** Released, or lost. */
  readonly isOver: boolean
  /** For how long a majority of the nodes is trusted, ms. */
  readonly trustedForMs: number
  /** Forgets a level that was lost. */
  drop(level: MemberHold): void
  mayJoin(member: Member): boolean
  /** Adds a node. @returns false: too late, the majority does not stand any more */
  join(level: MemberHold, members: readonly Member[]): boolean
}

/** The call that took the lock, and the lock itself, as a new try of a node needs them. */
export interface RetakeTerms extends Pick<CompoundCall, 'origin' | 'ofCallback'> {
  readonly name: string
  readonly session: LockServices
  readonly members: readonly Member[]
  readonly nodeTimeoutMs: number
  /** The lease of the call; renewed. undefined: that of the watchdog. */
  readonly leaseMs: number | undefined
}

/**
 * Takes nodes again for a renewed hold of a RedLock: those that lost it, such as one that was restarted empty, and those
 * that did not answer when the lock was taken. It tries after each renewal of a node that still has the lock, one
 * attempt at a time, while the majority stands (docs/decisions/0048).
 */
export class NodeRetaker {
  private isTrying = false

  constructor(
    private readonly hold: RetakingHold,
    private readonly terms: RetakeTerms,
  ) {
    hold.levels.forEach((level) => this.follow(level))
  }

  private follow({ acquisition }: MemberHold): void {
    acquisition.lease.loss.majority = this
  }

  /** To stop the work would be wrong advice while the majority stands. */
  get isHeld(): boolean {
    return !this.hold.isOver
  }

  afterRenewal(): void {
    const { hold, terms } = this
    const { session, nodeTimeoutMs } = terms
    if (this.isTrying || hold.isOver) {
      return
    }
    const missing = this.missing.filter(
      (member) => !NodeHealth.of(member).isPassedOver(member, nodeTimeoutMs),
    )
    // A majority that may end while the node is asked would refuse its vote.
    if (missing.length > 0 && hold.trustedForMs > 2 * nodeTimeoutMs) {
      this.isTrying = true
      session.background.run(this.take(missing).finally(() => (this.isTrying = false)))
    }
  }

  private get missing(): Member[] {
    const held = this.hold.levels.filter(({ hold }) => !hold.lossError)
    return this.terms.members.filter(
      (member) => this.hold.mayJoin(member) && held.every((level) => level.member !== member),
    )
  }

  private async take(members: readonly Member[]): Promise<void> {
    const { session, name, leaseMs, origin, ofCallback, nodeTimeoutMs } = this.terms
    await settleWithin(this.leaveLost(members), nodeTimeoutMs, session.runtime)
    if (this.hold.isOver) {
      return
    }
    const options = { waitMs: 0, leaseMs, renew: true }
    const request = { name, site: origin, ofCallback, options, defaultWaitMs: 0 }
    const call = new CompoundCall(session, request)
    await Promise.all(
      call.askEach(members, nodeTimeoutMs).map(async (asked) => {
        const answer = await asked
        if (answer.kind === 'held' && !this.join(answer.held)) {
          call.undo([answer.held])
        }
      }),
    )
  }

  /** A hold that was lost there would be re-entered, or block the new one under the old owner. */
  private async leaveLost(members: readonly Member[]): Promise<void> {
    const lost = this.hold.levels.filter(({ member }) => members.includes(member))
    lost.forEach((level) => this.hold.drop(level))
    await Promise.allSettled(lost.map(({ hold }) => hold.release()))
  }

  private join(level: MemberHold): boolean {
    const isJoined = this.hold.join(level, this.terms.members)
    if (isJoined) {
      this.follow(level)
    }
    return isJoined
  }
}
