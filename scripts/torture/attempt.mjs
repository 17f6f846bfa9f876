import { LockError } from '@holdfast/core'
import { nowMs } from '../shared-clock.mjs'

/**
 * One call that wants a lock, and what came of it, in the history.
 *
 * @typedef {{ hold: import('@holdfast/core').Hold, lock: string, owner: string, mode?: 'shared' | 'exclusive',
 *   leaseMs?: number }} Held `owner` is the one of the history: who reads inside its write lock is one owner there,
 *   and two in Redis.
 */
export class Attempt {
  isHeld = false
  #history
  #where
  #mode

  /**
   * @param {ReturnType<typeof import('./history-file.mjs').openHistory>} history
   * @param {{ lock: string, attempt: string, mode?: 'shared' | 'exclusive', deadlineMs: number }} call
   */
  constructor(history, { lock, attempt, mode, deadlineMs }) {
    this.#history = history
    this.#where = { lock, attempt }
    this.#mode = mode
    history.add('acquire-begin', { lock, attempt, mode, deadlineMs })
  }

  /** @returns {Held} */
  acquired(hold, owner = hold.owner) {
    this.isHeld = true
    const { lock } = this.#where
    const trustedUntilMs = nowMs() + hold.trustedForMs
    this.#history.add('acquired', { ...this.#where, owner, token: hold.token, trustedUntilMs })
    hold.signal.addEventListener('abort', () =>
      this.#history.add('lost', { lock, owner, reason: hold.signal.reason.reason }),
    )
    return { hold, lock, owner, mode: this.#mode }
  }

  refused() {
    this.#history.add('refused', this.#where)
  }

  /** What comes after the lock was taken is no outcome of the attempt to take it. */
  endedBy(error) {
    if (this.isHeld) {
      if (!(error instanceof LockError)) throw error
    } else if (error.code === 'LOCK_TIMEOUT') this.refused()
    else if (error instanceof LockError) this.#history.add('failed', { ...this.#where, code: error.code })
    else if (error.name === 'TimeoutError') this.#history.add('aborted', this.#where)
    else throw error
  }
}

/** Gives one level back. */
export const release = async (history, { hold, lock, owner, mode }) => {
  history.add('release-begin', { lock, owner, mode })
  history.add('released', { lock, owner, outcome: await hold.release() })
}
