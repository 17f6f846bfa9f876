import { LockClient, type LockClientOptions, type RedisTarget } from '../../index.js'

// Locks of the libraries that the drop-ins stand for are strings: they are waited for, not an error.
const OPTIONS: LockClientOptions = { foreignLocks: 'wait' }

/** Members that ioredis and node-redis share, and how each says that a connection has ended for good. */
interface Connection {
  once(event: 'end', listener: () => void): unknown
  readonly status?: string
  readonly isOpen?: boolean
}

/** A client of Holdfast, until the connection that it is on has ended. */
interface Opened {
  readonly locks: LockClient
  readonly closed: Promise<void>
  isOver: boolean
}

const opened = new WeakMap<RedisTarget, Opened>()

/**
 * Returns the client of Holdfast on a connection of the user's: one for all objects that share the connection, because each
 * has a second connection for messages. It ends with the user's.
 * @throws InvalidArgumentError the client is of no kind that Holdfast knows; Error the connection has ended
 */
export function lockClientOf(redis: RedisTarget): LockClient {
  const known = opened.get(redis)
  if (known && !known.isOver) {
    return known.locks
  }
  const connection = redis as unknown as Connection
  if (connection.status === 'end' || (connection.isOpen === false && known)) {
    // A client of Holdfast on it would never be told to end. In the words of ioredis, which callers know.
    throw new Error('Connection is closed.')
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

/** Resolves when nothing of Holdfast is open on that connection, which has ended; at once where nothing was. Never rejects. */
export async function lockClientClosed(redis: RedisTarget): Promise<void> {
  await opened.get(redis)?.closed
}

/**
 * Not before the connection has ended: a client of Holdfast that closes releases what it holds, and locks of these
 * libraries outlive the connection of their holder.
 */
function close(each: Opened): Promise<void> {
  each.isOver = true
  return each.locks.close({ graceMs: 0 })
}
