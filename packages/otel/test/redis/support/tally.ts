import { LockError } from '../../../../core/src/index.js'

export type Counts = Record<string, number>

/** The answers of callers, counted without a look at any channel or metric. */
export class Tally {
  /** By kind of lock and outcome of the call. */
  readonly calls: Counts = {}
  /** By reason. */
  readonly losses: Counts = {}

  lost(reason: string): void {
    count(this.losses, reason)
  }

  /**
   * One call for a lock.
   *
   * @param signal of the call
   * @param go calls `acquired` when it has the lock; gives false or null when it was refused
   */
  async call(
    kind: string,
    signal: AbortSignal | undefined,
    go: (acquired: (path?: 'remote' | 'reentrant') => void) => Promise<unknown>,
  ): Promise<void> {
    let isAcquired = false as boolean
    const acquired = (path = 'remote'): void => {
      isAcquired = true
      count(this.calls, `${kind} acquired ${path}`)
    }
    try {
      const got = await go(acquired)
      if (!isAcquired && (got === false || got === null)) count(this.calls, `${kind} timeout`)
    } catch (error) {
      // An error after the lock was taken is no outcome of the call.
      if (!isAcquired) count(this.calls, `${kind} ${outcomeOf(error, signal)}`)
      else if (!(error instanceof LockError)) throw error
    }
  }
}

const outcomeOf = (error: unknown, signal: AbortSignal | undefined): string => {
  if (signal?.aborted && error === signal.reason) return 'aborted'
  if (!(error instanceof LockError)) throw error
  return error.code === 'LOCK_TIMEOUT' ? 'timeout' : `error ${error.code}`
}

const count = (counts: Counts, key: string): void => {
  counts[key] = (counts[key] ?? 0) + 1
}

export const sum = (counts: Counts, counted: (key: string) => boolean = () => true): number =>
  Object.entries(counts).reduce((total, [key, each]) => total + (counted(key) ? each : 0), 0)
