import { LockError } from '@holdfast/core'

/** What callers were told, counted without a look at any channel or metric. */
export class Tally {
  /** By kind of lock and what came of the call. */
  calls = {}
  /** By reason. */
  losses = {}
  /** Of renewals. */
  unanswered = 0

  /** @param {import('@holdfast/core').LockClient} locks */
  watch(locks) {
    locks.on('lost', ({ error }) => this.lost(error.reason))
    locks.on('renewal-failed', () => (this.unanswered += 1))
    locks.on('release-failed', () => undefined)
  }

  lost(reason) {
    count(this.losses, reason)
  }

  /**
   * One call for a lock.
   *
   * @template T
   * @param {string} kind
   * @param {AbortSignal | undefined} signal of the call
   * @param {(acquired: (path?: string) => void) => Promise<T>} go gives false or null when it was refused
   */
  async call(kind, signal, go) {
    let isAcquired = false
    const acquired = (path = 'remote') => {
      isAcquired = true
      count(this.calls, `${kind} acquired ${path}`)
    }
    try {
      const got = await go(acquired)
      if (!isAcquired && (got === false || got === null)) count(this.calls, `${kind} timeout`)
    } catch (error) {
      // What comes after the lock was taken is no outcome of the call.
      if (!isAcquired) count(this.calls, `${kind} ${outcomeOf(error, signal)}`)
      else if (!(error instanceof LockError)) throw error
    }
  }
}

const outcomeOf = (error, signal) => {
  if (signal?.aborted && error === signal.reason) return 'aborted'
  if (!(error instanceof LockError)) throw error
  return error.code === 'LOCK_TIMEOUT' ? 'timeout' : `error ${error.code}`
}

const count = (counts, key) => {
  counts[key] = (counts[key] ?? 0) + 1
}
