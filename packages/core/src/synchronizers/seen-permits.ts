import type { SynchronizerServices } from './services.js'

/** Redis's last reply about one semaphore, to any waiting caller of this client. */
export interface SeenPermits {
  /** Permits that were free; undefined: no reply yet. */
  free: number | undefined
  /** Redis had no semaphore of this name: `trySetPermits` was not called, or the semaphore has expired since. */
  isMissing: boolean
}

interface Entry extends SeenPermits {
  waits: number
}

const entriesOf = new WeakMap<SynchronizerServices, Map<string, Entry>>()

/**
 * Shares the refusals among all waits of one client for one key: only one of them tries at a time, and the others
 * must still report in their time-out how many permits were free. Kept while there are waits.
 */
export function enterSeen(session: SynchronizerServices, key: string): SeenPermits {
  const entries = entriesOf.get(session) ?? new Map<string, Entry>()
  entriesOf.set(session, entries)
  const entry = entries.get(key) ?? { free: undefined, isMissing: false, waits: 0 }
  entries.set(key, entry)
  entry.waits += 1
  return entry
}

/** Must be called once for each `enterSeen`. */
export function leaveSeen(session: SynchronizerServices, key: string): void {
  const entries = entriesOf.get(session)
  const entry = entries?.get(key)
  if (entry) {
    entry.waits -= 1
    if (entry.waits === 0) {
      entries?.delete(key)
    }
  }
}
