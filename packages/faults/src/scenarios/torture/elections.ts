import { setTimeout as sleep } from 'node:timers/promises'
import { LockError, type LockClient } from '@holdfast/core'
import { getElection, type Election, type Term } from '@holdfast/core/election'
import type { History } from '../../run/history-file.js'
import { nowMs } from '../../run/shared-clock.js'
import { Attempt, trust } from '../../workload/attempt.js'
import { workMs, type CallerParts } from './workload.js'

/** They take their tokens from a counter, and from the clock of Redis: those grow even when Redis comes back empty. */
const ELECTIONS = ['counter', 'time'] as const
const nameOf = (tokens: (typeof ELECTIONS)[number]): string => `election:${tokens}`
const LOOK_EVERY_MS = 10
/** A campaign goes on for so long at most; then the candidate comes anew. */
const LONGEST_CAMPAIGN_MS = 4_000
/** A candidate waits for as long as its campaign lasts. */
const ENDLESS_MS = 1e9
const FAILED = 'The work has failed.'

/** A candidate, which gives its terms up in every way there is, and writes down what it believes while it leads. */
export class Candidate {
  readonly #parts: CallerParts
  readonly #name: string
  readonly #election: Election
  readonly #unexpected: unknown[] = []
  #attempts = 0
  #waiting: Attempt | undefined

  constructor(parts: CallerParts) {
    this.#parts = parts
    const tokens = parts.random.pick(ELECTIONS)
    this.#name = nameOf(tokens)
    this.#election = getElection(parts.locks, this.#name, {
      tokens,
      data: { name: parts.name },
      lossGraceMs: parts.leaseMs / 10,
      onError: (error) => {
        if (!isExpected(error)) this.#unexpected.push(error)
      },
    })
  }

  /** One campaign. */
  async step(): Promise<void> {
    const { random } = this.#parts
    this.#waiting = this.#wait()
    const campaign = this.#election.lead((term) => this.#work(term))
    const endsAt = nowMs() + random.between(0, LONGEST_CAMPAIGN_MS)
    while (nowMs() < endsAt) {
      await sleep(workMs(random))
      if (random.chance(0.2)) await this.#resign(random.chance(0.3))
    }
    await this.#election.close()
    await campaign
    this.#waiting.aborted()
    if (this.#unexpected.length > 0) throw this.#unexpected[0]
  }

  #wait(): Attempt {
    const attempt = `${this.#parts.name}#${(this.#attempts += 1)}`
    return new Attempt(this.#parts.history, { lock: this.#name, attempt, deadlineMs: ENDLESS_MS })
  }

  async #resign(toAnother: boolean): Promise<void> {
    try {
      const others = toAnother ? await this.#election.candidates() : []
      const other = others.length > 0 ? this.#parts.random.pick(others) : undefined
      await this.#election.resign(other ? { to: other.clientId } : {})
    } catch (error) {
      if (!(error instanceof LockError)) throw error
    }
  }

  async #work(term: Term): Promise<void> {
    const { random, history } = this.#parts
    const held = (this.#waiting ??= this.#wait()).acquired(term)
    const settlesAt = random.chance(0.15) ? nowMs() + workMs(random) : Infinity
    while (!term.signal.aborted && nowMs() < settlesAt) {
      trust(history, held)
      await sleep(LOOK_EVERY_MS, undefined, { signal: term.signal }).catch(() => undefined)
    }
    if (!term.signal.aborted) history.add('release-begin', { lock: held.lock, owner: held.owner })
    this.#waiting = this.#wait()
    if (random.chance(0.05)) throw new Error(FAILED)
  }
}

/** Errors that a campaign survives; any other is a finding. */
const isExpected = (error: unknown): boolean =>
  error instanceof LockError || (error instanceof Error && error.message === FAILED)

/** Notes who leads, as a process is told that takes no part. @returns what ends it */
export const follow = (locks: LockClient, history: History): (() => Promise<void>) => {
  const elections = ELECTIONS.map((tokens) => getElection(locks, nameOf(tokens), { tokens }))
  const following = elections.map((election) => note(election, history))
  return async () => {
    await Promise.all(elections.map((election) => election.close()))
    await Promise.all(following)
  }
}

const note = async (election: Election, history: History): Promise<void> => {
  const told = new Set<string>()
  for await (const leader of election.changes()) {
    if (!leader || told.has(leader.owner)) continue
    const { owner, token } = leader
    told.add(owner)
    history.add('followed', { lock: election.name, owner, token })
  }
}
