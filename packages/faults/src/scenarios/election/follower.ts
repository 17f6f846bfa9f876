import type { LockClient } from '@holdfast/core'
import { getElection, type Election, type Leader } from '@holdfast/core/election'
import { ELECTION } from './candidate.js'

/** Who leads, as a process is told that takes no part. */
export class Follower {
  /** Tokens of all terms that it was told of. */
  readonly tokens = new Set<string>()
  readonly violations: string[] = []
  leader: Leader | null = null
  missed = 0
  readonly #election: Election
  readonly #over: Promise<void>
  #latest = 0n

  constructor(locks: LockClient) {
    this.#election = getElection(locks, ELECTION)
    this.#over = this.#follow()
  }

  get terms(): number {
    return this.tokens.size
  }

  async close(): Promise<void> {
    await this.#election.close()
    await this.#over
  }

  async #follow(): Promise<void> {
    for await (const leader of this.#election.changes()) {
      this.leader = leader
      if (!leader) continue
      const token = BigInt(leader.token)
      if (token <= this.#latest) {
        this.violations.push(`I9 a follower was told of token ${token} after ${this.#latest}`)
      }
      this.#latest = token
      this.tokens.add(leader.token)
      this.missed += leader.leaseLeftMs === 0 ? 1 : 0
    }
  }
}
