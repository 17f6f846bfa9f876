import { RedisUnavailableError } from '../errors.js'
import { isWorthRetrying } from '../redis/until-known.js'
import { afterAnswers } from '../runtime/runtime.js'
import type { CompoundCall } from './compound-call.js'
import { levelsIn, lostMeanwhile, type MemberAnswer, type Member, type MemberHold } from './member.js'
import { NodeHealth } from './node-health.js'

/** The composition of a quorum. */
export interface Quorum {
  readonly needed: number
  readonly nodeTimeoutMs: number
}

/** The nodes asked in one round. */
interface RoundRequest {
  readonly members: readonly Member[]
  /** Votes from earlier rounds that the caller already holds. */
  readonly said: readonly MemberAnswer[]
  /** The node whose vote decides which caller continues. */
  readonly first: Member | undefined
}

/** The nodes' results of one round. */
export interface RoundResult {
  readonly answers: readonly MemberAnswer[]
  /** Nodes whose reply was not waited for: late grants are released. */
  readonly unheard: readonly Member[]
}

/**
 * Asks nodes at once and counts replies as they arrive, until the outcome is decided: a caller must not block others
 * with too few votes, nor wait for replies that change nothing.
 *
 * The outcome is decided when there is a quorum; slower nodes then get some time to be part of it. Or when a quorum
 * has become impossible: the round ends at once, so that votes are released. But then the first node must have
 * replied, because a caller with its vote keeps its votes and asks the others again.
 */
export class QuorumRound {
  private readonly first: Member | undefined
  private readonly answers: MemberAnswer[]
  private readonly pending: Set<Member>
  private readonly askedAt: number
  private timer: { cancel(): void } | null = null
  private isOver = false
  private resolve: (result: RoundResult) => void = () => undefined

  constructor(
    private readonly call: CompoundCall,
    private readonly quorum: Quorum,
    { members, said, first }: RoundRequest,
  ) {
    this.first = first
    this.answers = [...said]
    this.pending = new Set(members)
    this.askedAt = call.session.runtime.now()
  }

  ask(): Promise<RoundResult> {
    const { call, quorum, pending } = this
    return new Promise((resolve) => {
      this.resolve = resolve
      const members = [...pending]
      const asked = call.askEach(members, quorum.nodeTimeoutMs)
      asked.forEach((answer, i) => this.hear(members[i] as Member, answer))
      this.decide()
    })
  }

  private hear(member: Member, asked: Promise<MemberAnswer>): void {
    const heard = asked.then((answer) => {
      this.noteHealth(answer)
      if (!this.isOver) {
        this.pending.delete(member)
        this.answers.push(answer)
        this.decide()
      } else if (answer.kind === 'held') {
        this.call.undo([answer.held])
      }
    })
    // A caller that fails is resumed after this has settled, too.
    this.call.owes(heard, member)
  }

  private noteHealth(answer: MemberAnswer): void {
    const health = NodeHealth.of(answer.member)
    const tookMs = this.call.session.runtime.now() - this.askedAt
    const { commandTimeout } = answer.member.session.options
    // Timers may fire slightly early.
    const wholeTimeMs = Math.min(this.quorum.nodeTimeoutMs, commandTimeout) - 1
    if (answer.kind !== 'failed') {
      health.answered(tookMs)
    } else if (tookMs >= wholeTimeMs && isWorthRetrying(answer.error)) {
      health.wasSilent()
    }
  }

  private decide(): void {
    const { pending, quorum } = this
    const held = votesIn(this.answers).length
    if (pending.size === 0) {
      this.end()
    } else if (held >= quorum.needed) {
      this.endSoon()
    } else if (held + pending.size < quorum.needed && !this.isFirstPending) {
      // A second try of a node would be refused by the first, still in flight. And a caller without votes blocks none.
      const mayWait = held === 0 || this.hasFirst
      if (mayWait) {
        this.endSoon()
      } else {
        this.end()
      }
    }
  }

  private get isFirstPending(): boolean {
    return this.first !== undefined && this.pending.has(this.first)
  }

  private get hasFirst(): boolean {
    return votesIn(this.answers).some(({ member }) => member === this.first)
  }

  private endSoon(): void {
    const { runtime } = this.call.session
    const grace = [...this.pending].map((member) => NodeHealth.of(member).graceMs(this.quorum.nodeTimeoutMs))
    const leftMs = this.askedAt + Math.max(...grace) - runtime.now()
    this.timer?.cancel()
    this.timer = null
    if (leftMs <= 0) {
      this.end()
    } else {
      this.timer = afterAnswers(runtime, leftMs, () => this.end())
    }
  }

  private end(): void {
    this.isOver = true
    this.timer?.cancel()
    this.resolve({ answers: this.answers, unheard: [...this.pending] })
  }
}

/** The result of a node that was not asked, or not waited for. */
export function notHeard(member: Member, why: string): MemberAnswer {
  const { lockName } = member
  const error = new RedisUnavailableError(why, { outcome: 'unknown', transient: true, lockName })
  return { kind: 'failed', member, error }
}

/** The valid votes: a lease may have expired while others were asked. */
export function votesIn(answers: readonly MemberAnswer[]): MemberHold[] {
  return levelsIn(answers).filter((level) => !lostMeanwhile(level))
}
