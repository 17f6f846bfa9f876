import { readWriteChannel, waitingWriters } from '../../keys.js'

/** What the scripts of one read-write lock share. */
export interface ReadWriteKeys {
  readonly lockName: string
  /** Hash: mode, and owner -> holds. */
  readonly lock: string
  readonly writers: string
  readonly channel: string
}

export function readWriteKeys(lockName: string, lock: string): ReadWriteKeys {
  const channel = readWriteChannel(lock)
  const writers = waitingWriters(lock)
  return { lockName, lock, writers, channel }
}
