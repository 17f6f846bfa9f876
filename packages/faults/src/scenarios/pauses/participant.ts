import { once } from 'node:events'
import { fencedSet, LockLostError } from '@holdfast/core'
import { Redis } from 'ioredis'
import { nowMs } from '../../run/shared-clock.js'
import { Attempt, release, type Held } from '../../workload/attempt.js'
import { ObservedClient } from '../../workload/observed-client.js'
import type { Guarded, PauseHistory } from './events.js'
import { Turns } from './turns.js'

/** Locks whose names begin so come with a token. */
const FENCED = 'fenced:'

export interface ParticipantSettings {
  readonly name: string
  readonly file: string
  /** The port of the wire that the library's connection takes. */
  readonly port: number
  /** Past any delay. */
  readonly directPort: number
  readonly leaseMs: number
  readonly commandTimeoutMs: number
}

/** One process that wants locks and writes down what it was told and what it did. */
export class Participant {
  readonly turns = new Turns()
  /** The user's own connection, which no delay slows down. */
  readonly user: Redis
  readonly #client: ObservedClient
  readonly #name: string
  #attempts = 0

  constructor({ directPort, leaseMs, commandTimeoutMs, ...where }: ParticipantSettings) {
    this.#name = where.name
    this.user = new Redis(directPort, { disconnectTimeout: 50 })
    this.#client = new ObservedClient({
      ...where,
      client: { lockWatchdogTimeout: leaseMs, commandTimeout: commandTimeoutMs, runtime: this.turns.clock },
    })
  }

  get history(): PauseHistory {
    return this.#client.history
  }

  async connected(): Promise<void> {
    await this.#client.redis.ping()
    this.turns.watchConnection(this.#client.redis)
  }

  /** @returns null when the lock was not to be had within the options */
  async acquire(
    lock: string,
    options: { leaseMs?: number; waitMs?: number; signal?: AbortSignal },
  ): Promise<Belief | null> {
    const { history, locks } = this.#client
    const attempt = new Attempt(history, { lock, attempt: `${this.#name}#${(this.#attempts += 1)}` })
    try {
      const isFenced = lock.startsWith(FENCED)
      const hold = await (isFenced ? locks.getFencedLock(lock) : locks.getLock(lock)).acquire(options)
      return new Belief(attempt.acquired(hold), history)
    } catch (error) {
      attempt.endedBy(error)
      return null
    }
  }

  /** A write to what the lock protects, which looks at nothing but the token. */
  async guardedWrite(
    { lock, owner, hold }: Belief,
    token: string,
    more: Partial<Guarded> = {},
  ): Promise<void> {
    const sentMs = nowMs()
    const { accepted, highestToken } = await fencedSet(this.user, {
      ...{ key: `register:${lock}`, token, value: owner },
    })
    const isTrusted = hold.trustedForMs > 0
    this.history.add('guarded', { lock, owner, token, sentMs, accepted, highestToken, isTrusted, ...more })
  }

  close(): Promise<void> {
    const closeUser = async (): Promise<void> => {
      const ended = once(this.user, 'end')
      this.user.disconnect()
      await ended
    }
    return this.#client.close([{ close: closeUser }])
  }
}

/** The belief of a process about one hold, written down whenever it is asked. */
export class Belief {
  readonly hold: Held['hold']
  readonly owner: string
  readonly lock: string
  readonly token: string | undefined
  /** Trust lasts until then at least, on the clock of the history. */
  untilMs: number
  isGivenBack = false
  readonly #held: Held
  readonly #history: PauseHistory

  constructor(held: Held, history: PauseHistory) {
    this.untilMs = nowMs() + held.hold.trustedForMs
    this.hold = held.hold
    this.lock = held.lock
    this.owner = held.owner
    this.token = held.hold.token
    this.#held = held
    this.#history = history
  }

  /** Whether the hold is trusted now; the time comes first, so that a pause in between makes no belief a lie. */
  look(): boolean {
    const atMs = nowMs()
    const leftMs = this.hold.trustedForMs
    if (leftMs > 0) {
      this.untilMs = Math.max(this.untilMs, atMs + leftMs)
      this.#history.add('trusted', { lock: this.lock, owner: this.owner, untilMs: this.untilMs })
    }
    return leftMs > 0
  }

  /** The check of a careful user before each write. */
  isEnsured(): boolean {
    const atMs = nowMs()
    try {
      this.hold.ensure()
    } catch (error) {
      if (!(error instanceof LockLostError)) throw error
      return false
    }
    this.claim(atMs)
    return true
  }

  /** Acts as the owner at that time. */
  claim(atMs: number): void {
    this.look()
    this.#history.add('write', { atMs, lock: this.lock, owner: this.owner, accepted: true })
  }

  /** From now on the hold may be trusted for less: for what Redis says it keeps, counted from here. */
  noteQuestion(): void {
    this.#history.add('asked', { lock: this.lock, owner: this.owner })
  }

  async giveBack(): Promise<void> {
    this.isGivenBack = true
    await release(this.#history, this.#held)
  }
}
