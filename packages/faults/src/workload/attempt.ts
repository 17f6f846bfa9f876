import { LockError, type Hold, type LockHold } from '@holdfast/core'
import type { Mode } from '@holdfast/faults/harness'
import type { History } from '../run/history-file.js'
import { nowMs } from '../run/shared-clock.js'

/** A hold, as the history knows it. */
export interface Held {
  readonly hold: LockHold & Partial<Pick<Hold, 'token'>>
  readonly lock: string
  /** Of the history: a reader inside its own write lock is one owner there, and two in Redis. */
  readonly owner: string
  readonly mode: Mode | undefined
  /** Of a lease that nobody renews, ms. */
  readonly leaseMs?: number
}

export interface AttemptCall {
  readonly lock: string
  readonly attempt: string
  readonly mode?: Mode | undefined
  readonly deadlineMs?: number
}

/** One call that wants a lock: its begin and its outcome, in the history. */
export class Attempt {
  isHeld = false
  readonly #history: History
  readonly #where: { readonly lock: string; readonly attempt: string }
  readonly #mode: Mode | undefined

  constructor(history: History, { lock, attempt, mode, deadlineMs }: AttemptCall) {
    this.#history = history
    this.#where = { lock, attempt }
    this.#mode = mode
    history.add('acquire-begin', { lock, attempt, mode, deadlineMs })
  }

  acquired(hold: Held['hold'], owner = hold.owner): Held {
    this.isHeld = true
    const { lock } = this.#where
    const trustedUntilMs = nowMs() + hold.trustedForMs
    this.#history.add('acquired', { ...this.#where, owner, token: hold.token, trustedUntilMs })
    hold.signal.addEventListener('abort', () => {
      const { reason } = hold.signal.reason as { reason: string }
      this.#history.add('lost', { lock, owner, reason })
    })
    return { hold, lock, owner, mode: this.#mode }
  }

  refused(): void {
    this.#history.add('refused', this.#where)
  }

  /** An error after the lock was taken is no outcome of the attempt to take it. @throws what no lock may end with */
  endedBy(error: unknown): void {
    if (this.isHeld) {
      if (!(error instanceof LockError)) throw error
    } else if (error instanceof LockError) {
      if (error.code === 'LOCK_TIMEOUT') this.refused()
      else this.#history.add('failed', { ...this.#where, code: error.code })
    } else if (error instanceof Error && error.name === 'TimeoutError')
      this.#history.add('aborted', this.#where)
    else throw error
  }
}

/** Gives one level back. */
export const release = async (history: History, { hold, lock, owner, mode }: Held): Promise<void> => {
  history.add('release-begin', { lock, owner, mode })
  history.add('released', { lock, owner, outcome: await hold.release() })
}
