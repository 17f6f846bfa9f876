import { LockClient, type LockClientOptions } from '@holdfast/core'
import type { RedisClient } from './redis-client.js'

// Locks of the library that this one stands for are strings: they are waited for, not an error.
const OPTIONS: LockClientOptions = { foreignLocks: 'wait' }

/** Members that ioredis and node-redis share, and how each says that a connection has ended for good. */
interface Connection {
  once(event: 'end', listener: () => void): unknown
  readonly status?: string
  readonly isOpen?: boolean
}

const connectionOf = (redis: object): Connection => redis as Connection

/** A client of Holdfast, until the connection that it is on has ended. */
interface Opened {
  readonly locks: LockClient
  /** Resolves when it is closed. */
  readonly closed: Promise<void>
  isOver: boolean
}

const opened = new WeakMap<RedisClient, Opened>()

// @holdfast/redis-semaphore has the same function. Both packages import nothing but core, and it is no part of core's API; a
// third package that both bundle would be more than its fifty lines. A change here belongs there too.

/**
 * The client of Holdfast on a connection of the user's: one for all objects that share the connection, because each
 * has a second connection for messages. It ends with the user's.
 * @throws InvalidArgumentError the client is of no kind that Holdfast knows; Error the connection has ended
 */
export function lockClientOf(redis: RedisClient): LockClient {
  const known = opened.get(redis)
  if (known && !known.isOver) {
    return known.locks
  }
  const connection = connectionOf(redis)
  if (connection.status === 'end' || (connection.isOpen === false && known)) {
    // A client of Holdfast on it would never be told to end.
    throw connectionClosed()
  }
  const locks = new LockClient(redis, OPTIONS)
  // A lock that is left to its lease is no mistake here. Without a listener its end would be a process warning.
  locks.on('lost', () => undefined)
  locks.on('unreachable', () => undefined)
  const ended = new Promise<void>((resolve) => connection.once('end', resolve))
  const all: Opened = { locks, isOver: false, closed: ended.then(() => close(all)) }
  opened.set(redis, all)
  return locks
}

/**
 * Not before the connection has ended: a client of Holdfast that closes releases what it holds, and locks of these
 * libraries outlive the connection of their holder.
 */
function close(each: Opened): Promise<void> {
  each.isOver = true
  return each.locks.close({ graceMs: 0 })
}

/** In the words of ioredis, which callers know. */
export function connectionClosed(cause?: unknown): Error {
  return new Error('Connection is closed.', { cause })
}

/** Ends a connection of the user's as its own library does, and resolves when nothing is open beside it either. */
export async function quit(redis: RedisClient): Promise<unknown> {
  const { quit, close } = redis as Partial<Record<'quit' | 'close', () => Promise<unknown>>>
  const reply = await (quit ?? close)?.call(redis)
  await opened.get(redis)?.closed
  return reply
}
