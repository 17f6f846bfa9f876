import type { Session } from '../client/session.js'

/** What Redis last said of one semaphore, to any caller of this client that waits for it. */
export interface SeenPermits {
  /** How many permits were free; undefined: Redis has not said yet. */
  free: number | undefined
  /** Redis had no semaphore of this name: nobody has called `trySetPermits`, or it has ended since. */
  isMissing: boolean
}

interface Entry extends SeenPermits {
  waits: number
}

const entriesOf = new WeakMap<Session, Map<string, Entry>>()

/**
 * Notes what refusals say, for all waits of one client on one key: only one of them tries at a time, and the others
 * still have to say in their time-out what was free. Kept while somebody waits.
 */
export function enterSeen(session: Session, key: string): SeenPermits {
  const entries = entriesOf.get(session) ?? new Map<string, Entry>()
  entriesOf.set(session, entries)
  const entry = entries.get(key) ?? { free: undefined, isMissing: false, waits: 0 }
  entries.set(key, entry)
  entry.waits += 1
  return entry
}

/** To be called once for each `enterSeen`. */
export function leaveSeen(session: Session, key: string): void {
  const entries = entriesOf.get(session)
  const entry = entries?.get(key)
  if (entry) {
    entry.waits -= 1
    if (entry.waits === 0) {
      entries?.delete(key)
    }
  }
}
