import type { LockClient } from '@holdfast/core'
import { getElection, type Election, type Leader } from '@holdfast/core/election'
import { nowMs } from '../../run/shared-clock.js'
import { ELECTION } from './candidate.js'
import type { ToldTerm } from './verdict.js'

/** Who leads, as a process is told that takes no part. */
export class Follower {
  /** All terms that it was told of, each once. */
  readonly told: ToldTerm[] = []
  leader: Leader | null = null
  missed = 0
  readonly #election: Election
  readonly #over: Promise<void>
  readonly #owners = new Set<string>()

  constructor(locks: LockClient) {
    this.#election = getElection(locks, ELECTION)
    this.#over = this.#follow()
  }

  get terms(): number {
    return this.told.length
  }

  async close(): Promise<void> {
    await this.#election.close()
    await this.#over
  }

  async #follow(): Promise<void> {
    for await (const leader of this.#election.changes()) {
      this.leader = leader
      if (!leader) continue
      const { owner, token } = leader
      if (!this.#owners.has(owner)) this.told.push({ owner, token, atMs: nowMs() })
      this.#owners.add(owner)
      this.missed += leader.leaseLeftMs === 0 ? 1 : 0
    }
  }
}
