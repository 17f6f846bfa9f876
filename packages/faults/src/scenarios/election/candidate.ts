import { setTimeout as sleep } from 'node:timers/promises'
import { LockError } from '@holdfast/core'
import { getElection, type Election, type Term } from '@holdfast/core/election'
import { openHistory, type History } from '../../run/history-file.js'
import { nowMs } from '../../run/shared-clock.js'
import { ObservedClient } from '../../workload/observed-client.js'
import { heartbeatOf, type ElectionEventKind } from './verdict.js'

export const ELECTION = 'leader'
const LOOK_EVERY_MS = 10
/** Of the terms: their callback returns or throws by itself, after so long at most. */
const SETTLES = 0.15
const LONGEST_WORK_MS = 150

export interface CandidateSettings {
  readonly name: string
  readonly file: string
  readonly port: number
  readonly leaseMs: number
}

/** A process that campaigns, and writes down what it believes while it leads. */
export class CandidateProcess {
  readonly #client: ObservedClient
  readonly #history: History<ElectionEventKind>
  readonly #election: Election
  #campaign: Promise<void>

  constructor(settings: CandidateSettings) {
    const { leaseMs, name, file } = settings
    this.#client = new ObservedClient({
      ...settings,
      client: {
        lockWatchdogTimeout: leaseMs,
        resyncInterval: heartbeatOf(leaseMs),
        commandTimeout: leaseMs / 2,
      },
    })
    this.#history = openHistory(file, name)
    this.#election = getElection(this.#client.locks, ELECTION, {
      data: { name },
      lossGraceMs: leaseMs / 10,
      onError: (error) => this.#onError(error),
    })
    this.#campaign = this.#lead()
  }

  get clientId(): string {
    return this.#client.locks.clientId
  }

  /** @returns whether it led; 'refused': that candidate was not available, and the term goes on */
  async resign(to: string | null): Promise<boolean | 'refused' | 'unknown'> {
    try {
      return await this.#election.resign(to === null ? {} : { to })
    } catch (error) {
      if (!(error instanceof LockError)) throw error
      return error.code === 'CANDIDATE_UNAVAILABLE' ? 'refused' : 'unknown'
    }
  }

  async closeAndReturn(): Promise<void> {
    await this.#election.close()
    await this.#campaign
    this.#campaign = this.#lead()
  }

  async finish(): Promise<void> {
    await this.#election.close()
    await this.#campaign
    this.#history.close()
    await this.#client.close()
  }

  #lead(): Promise<void> {
    return this.#election.lead((term) => this.#work(term))
  }

  async #work(term: Term): Promise<void> {
    const { token, owner } = term
    this.#history.add('began', { owner, token, untilMs: nowMs() + term.trustedForMs })
    const settlesAt = Math.random() < SETTLES ? nowMs() + Math.random() * LONGEST_WORK_MS : Infinity
    let isTold = false
    const end = (reason: string): void => {
      if (!isTold) this.#history.add('ended', { owner, token, reason })
      isTold = true
    }
    term.signal.addEventListener('abort', () => {
      end((term.signal.reason as { reason: string }).reason)
    })
    while (!term.signal.aborted && nowMs() < settlesAt) {
      const atMs = nowMs()
      const { trustedForMs } = term
      if (trustedForMs > 0) this.#history.add('trusted', { atMs, owner, token, untilMs: atMs + trustedForMs })
      await sleep(LOOK_EVERY_MS, undefined, { signal: term.signal }).catch(() => undefined)
    }
    if (term.signal.aborted) return
    end('settled')
    if (Math.random() < 0.5) throw new Error('The work has failed.')
  }

  /** What a campaign survives; anything else is a finding. */
  #onError(error: unknown): void {
    const isExpected =
      (error instanceof LockError && ['REDIS_UNAVAILABLE', 'LOCK_LOST'].includes(error.code)) ||
      (error instanceof Error && error.message === 'The work has failed.')
    if (!isExpected) this.#history.add('unexpected', { error: String(error) })
  }
}
