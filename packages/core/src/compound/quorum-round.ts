import { RedisUnavailableError } from '../errors.js'
import { isWorthRetrying } from '../redis/until-known.js'
import { afterAnswers } from '../runtime/runtime.js'
import type { CompoundCall } from './compound-call.js'
import { levelsIn, lostMeanwhile, type MemberAnswer, type Member, type MemberHold } from './member.js'
import { NodeHealth } from './node-health.js'

/** What a quorum is made of. */
export interface Quorum {
  readonly needed: number
  readonly nodeTimeoutMs: number
}

/** Who is asked in one round. */
interface RoundRequest {
  readonly members: readonly Member[]
  /** What others have said before: votes that the caller has in hand. */
  readonly said: readonly MemberAnswer[]
  /** Whose vote says who goes on. */
  readonly first: Member | undefined
}

/** What nodes said to one round. */
export interface RoundResult {
  readonly answers: readonly MemberAnswer[]
  /** Nodes whose answer came to nothing more: what they still grant is given back. */
  readonly unheard: readonly Member[]
}

/**
 * Nodes that are asked at once, and counted as they answer, until the outcome is decided: a caller keeps nobody out with
 * votes that are not enough, nor waits for what changes nothing.
 *
 * It is decided when there is a quorum; then nodes that are slower than the others still have some time to be part of
 * it. Or when there can be none any more: then it ends at once, so that the votes are given back. But the first node
 * has to have said its word, for whoever has its vote keeps what it has and asks the others again.
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
    this.askedAt = call.session.clock.now()
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
        this.call.giveBack([answer.held])
      }
    })
    // Who is refused in the end hears of it when this is done, too.
    this.call.owes(heard, member)
  }

  private noteHealth(answer: MemberAnswer): void {
    const health = NodeHealth.of(answer.member)
    const tookMs = this.call.session.clock.now() - this.askedAt
    const { commandTimeout } = answer.member.session.options
    // A timer may fire a little early.
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
      // Asking again what is still on its way would be refused by itself. And who has nothing keeps nobody out.
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

/** Of a node that is not asked, or not waited for. */
export function notHeard(member: Member, why: string): MemberAnswer {
  const { lockName } = member
  const error = new RedisUnavailableError(why, { outcome: 'unknown', transient: true, lockName })
  return { kind: 'failed', member, error }
}

/** Those that count: a lease may have ended while others were asked. */
export function votesIn(answers: readonly MemberAnswer[]): MemberHold[] {
  return levelsIn(answers).filter((level) => !lostMeanwhile(level))
}
