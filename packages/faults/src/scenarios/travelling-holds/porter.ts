import { LockError, type Hold, type LockClient } from '@holdfast/core'
import { adopt, handOver, revoke } from '@holdfast/core/travel'
import type { History } from '../../run/history-file.js'
import { Attempt, release, type Held } from '../../workload/attempt.js'
import type { TravellingKind } from './lanes.js'

/** What came of a call: the token of a hand-over, the owner that got the lock, or a word. */
export type Told =
  | { readonly token: string }
  | { readonly owner: string }
  | 'done'
  | 'nothing'
  | 'gone'
  | 'refused'
  | 'unknown'
  | 'lost'

/** The holds of one worker process, by the call that got them. Everything that it sees stands in its history. */
export class Porter {
  readonly #held = new Map<string, Held>()

  constructor(
    private readonly locks: LockClient,
    private readonly history: History,
  ) {}

  /** Takes a free lock of a lane, and keeps it. */
  take(lock: string, kind: TravellingKind, attempt: string, waitMs: number): Promise<Told> {
    return this.keep(lock, attempt, () => this.lockOf(lock, kind).acquire({ waitMs }), waitMs)
  }

  async handOver(attempt: string, keepMs: number): Promise<Told> {
    const held = this.#held.get(attempt)
    this.#held.delete(attempt)
    if (!held) return 'lost'
    try {
      return { token: await handOver(held.hold, { keepMs }) }
    } catch (error) {
      return wordOf(error)
    }
  }

  adopt(lock: string, token: string, attempt: string): Promise<Told> {
    return this.keep(lock, attempt, () => adopt(this.locks, token))
  }

  async revoke(token: string): Promise<Told> {
    try {
      return (await revoke(this.locks, token)) ? 'done' : 'nothing'
    } catch (error) {
      return wordOf(error)
    }
  }

  async release(attempt: string): Promise<Told> {
    const held = this.#held.get(attempt)
    this.#held.delete(attempt)
    if (!held) return 'lost'
    try {
      await release(this.history, held)
      return 'done'
    } catch (error) {
      this.history.add('released', {
        lock: held.lock,
        owner: held.owner,
        outcome: 'error',
        code: codeOf(error),
      })
      return wordOf(error)
    }
  }

  /** Somebody who wants the lock of a lane meanwhile, for a moment. */
  async rival(lock: string, kind: TravellingKind, attempt: string): Promise<Told> {
    const told = await this.keep(lock, attempt, () => this.lockOf(lock, kind).acquire({ waitMs: 0 }), 0)
    return typeof told === 'object' ? this.release(attempt) : told
  }

  private async keep(
    lock: string,
    attempt: string,
    call: () => Promise<Hold>,
    deadlineMs?: number,
  ): Promise<Told> {
    const begun = new Attempt(this.history, {
      lock,
      attempt,
      ...(deadlineMs !== undefined && { deadlineMs }),
    })
    try {
      const held = begun.acquired(await call())
      this.#held.set(attempt, held)
      return { owner: held.owner }
    } catch (error) {
      if (codeOf(error) === 'HANDOVER_GONE') begun.refused()
      else begun.endedBy(error)
      return wordOf(error)
    }
  }

  private lockOf(lock: string, kind: TravellingKind) {
    const { locks } = this
    if (kind === 'fair') return locks.getFairLock(lock)
    return kind === 'fenced' ? locks.getFencedLock(lock) : locks.getLock(lock)
  }
}

const codeOf = (error: unknown): string => (error instanceof LockError ? error.code : '')

/** @throws what no call may end with */
const wordOf = (error: unknown): Told => {
  switch (codeOf(error)) {
    case 'HANDOVER_GONE':
      return 'gone'
    case 'LOCK_TIMEOUT':
      return 'refused'
    case 'LOCK_LOST':
      return 'lost'
    case 'REDIS_UNAVAILABLE':
      return 'unknown'
    default:
      throw error
  }
}
