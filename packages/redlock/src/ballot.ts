import type { RedisClient } from './redis-client.js'

/** How the Redis clients answered one attempt. */
export interface ExecutionStats {
  readonly membershipSize: number
  readonly quorumSize: number
  readonly votesFor: Set<RedisClient>
  readonly votesAgainst: Map<RedisClient, Error>
}

export function quorumOf(members: number): number {
  return Math.floor(members / 2) + 1
}

/** The votes of one attempt. */
export class Ballot {
  /** Whether a quorum is for it; resolves as soon as the votes that are missing cannot change that. */
  readonly decided: Promise<boolean>
  /** Resolves with the last vote. */
  readonly closed: Promise<ExecutionStats>
  readonly #stats: ExecutionStats
  readonly #report: (error: Error) => void
  #decide!: (isFor: boolean) => void
  #close!: (stats: ExecutionStats) => void

  /** @param report called with the error of each vote against */
  constructor(members: number, report: (error: Error) => void) {
    this.#report = report
    this.#stats = {
      membershipSize: members,
      quorumSize: quorumOf(members),
      votesFor: new Set(),
      votesAgainst: new Map(),
    }
    this.decided = new Promise((resolve) => (this.#decide = resolve))
    this.closed = new Promise((resolve) => (this.#close = resolve))
  }

  voteFor(client: RedisClient): void {
    this.#stats.votesFor.add(client)
    this.#count()
  }

  voteAgainst(client: RedisClient, error: Error): void {
    this.#stats.votesAgainst.set(client, error)
    // Counted first: a listener that throws must not lose the vote.
    this.#count()
    this.#report(error)
  }

  #count(): void {
    const { membershipSize, quorumSize, votesFor, votesAgainst } = this.#stats
    if (votesFor.size >= quorumSize) {
      this.#decide(true)
    } else if (membershipSize - votesAgainst.size < quorumSize) {
      this.#decide(false)
    }
    if (votesFor.size + votesAgainst.size === membershipSize) {
      this.#close(this.#stats)
    }
  }
}
