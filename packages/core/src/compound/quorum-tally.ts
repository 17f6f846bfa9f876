import { LockLostError, QuorumError, type LockTimeoutError, type NodeReport } from '../errors.js'
import { isWorthRetrying } from '../redis/until-known.js'
import type { CompoundCall } from './compound-call.js'
import {
  inOrderOf,
  levelsIn,
  lostMeanwhile,
  refuseTwins,
  type MemberAnswer,
  type Member,
  type MemberHold,
} from './member.js'
import { notHeard, type RoundResult } from './quorum-round.js'

type Busy = Extract<MemberAnswer, { kind: 'busy' }>

/** The nodes' results for one call of a RedLock, try by try. */
export class QuorumTally {
  private answers: readonly MemberAnswer[] = []
  private unheard: readonly Member[] = []
  private unreachableSince: number | null = null

  constructor(
    private readonly call: CompoundCall,
    /** All nodes of the lock, in the order given. */
    private readonly members: readonly Member[],
    private readonly needed: number,
  ) {}

  /**
   * Counts one try. Without a quorum everything is released.
   * @returns the levels of a quorum; null: another try may reach one
   * @throws the reason of the signal; QuorumError no try can reach one, or none did for too long
   */
  count({ answers, unheard }: RoundResult): MemberHold[] | null {
    const { call, needed } = this
    this.unheard = unheard
    this.answers = answers.map((each) => (each.kind === 'held' && lostMeanwhile(each.held)) || each)
    const levels = levelsIn(answers)
    if (levelsIn(this.answers).length >= needed && call.signal?.aborted !== true) {
      return inOrderOf(this.members, levels)
    }
    call.undo(levels)
    call.throwIfEnded()
    refuseTwins(answers)
    this.giveUpWhereHopeless()
    return null
  }

  /** Nodes held by other owners, in the order given: contenders then wait at the same one. */
  get busy(): Busy[] {
    return this.members.flatMap((member) =>
      this.answers.filter((each): each is Busy => each.member === member && each.kind === 'busy'),
    )
  }

  /** No time is left for another try. @throws QuorumError no caller could have had a quorum */
  conclude(): LockTimeoutError {
    const { busy, reports: nodes } = this
    const [first] = busy
    if (!first || this.isUnreachable) {
      throw this.error()
    }
    const onlyContenders = busy.length + this.unheard.length < this.needed
    return this.call.timeout('RedLock', first.error, { nodes, onlyContenders })
  }

  private get failures(): Extract<MemberAnswer, { kind: 'failed' }>[] {
    return this.answers.filter((each) => each.kind === 'failed')
  }

  private get isUnreachable(): boolean {
    return this.answers.length + this.unheard.length - this.failures.length < this.needed
  }

  private giveUpWhereHopeless(): void {
    const { session, waitMs } = this.call
    if (!this.isUnreachable) {
      this.unreachableSince = null
      return
    }
    const now = session.runtime.now()
    this.unreachableSince ??= now
    const final = this.failures.filter(({ error }) => !isWorthRetrying(error))
    const isHopeless = this.answers.length + this.unheard.length - final.length < this.needed
    const isTooLong = now - this.unreachableSince >= session.options.unavailableTimeoutMs
    if (isHopeless || (waitMs === undefined && isTooLong)) {
      // A re-entry into a lost lock.
      throw final.map(({ error }) => error).find((error) => error instanceof LockLostError) ?? this.error()
    }
  }

  private error(): QuorumError {
    const lockName = this.answers[0]?.member.lockName ?? ''
    return new QuorumError({ lockName, needed: this.needed, nodes: this.reports })
  }

  private get reports(): NodeReport[] {
    const unheard = this.unheard.map((member) => notHeard(member, 'Its reply no longer mattered.'))
    const all = [...this.answers, ...unheard].map((each) => reportOf(each, this.members))
    return all.sort((a, b) => a.index - b.index)
  }
}

/** The node's result, for an error. */
export function reportOf(answer: MemberAnswer, members: readonly Member[]): NodeReport {
  const { member, kind } = answer
  const node = { index: members.indexOf(member), clientId: member.session.clientId }
  switch (kind) {
    case 'held':
      return { ...node, outcome: 'acquired' }
    case 'busy':
      return { ...node, outcome: 'busy', holder: answer.error.holder }
    case 'failed':
      return { ...node, outcome: 'failed', error: answer.error }
  }
}
