import { InvalidArgumentError, LockError, type LockHold } from '@holdfast/core'
import { lockClientOf } from '@holdfast/core/siblings'
import { connectionClosed } from './closing.js'
import { clientIn } from './databases.js'
import type { RedisClient } from './redis-client.js'

// The longest wait that one call of Holdfast takes: 24 days.
const LONGEST_MS = 2_147_483_647
const NOT_WHOLE = 'Duration must be an integer value in milliseconds.'

/** The resources to lock on each Redis, and for how long. */
export interface LockRequest {
  readonly resources: readonly string[]
  readonly duration: number
}

/** One of the Redis clients, as the keeper of all resources of a lock. */
export class Member {
  /** @param db the database of the locks, if not that of the client */
  constructor(
    readonly client: RedisClient,
    private readonly db?: number,
  ) {}

  /**
   * Takes all resources, or none. Each acquisition is an owner of its own, so that nobody re-enters.
   * @param waitMs 0: one attempt; Infinity: no limit
   * @returns null: somebody else had one of them for all that time
   * @throws what `acquire` of a lock throws
   */
  async take({ resources, duration }: LockRequest, waitMs: number): Promise<LockHold | null> {
    const thread = lockClientOf(clientIn(this.client, this.db)).thread()
    const locks = [...new Set(resources)].map((name) => thread.getLock(name))
    const [only, ...others] = locks
    const lock = only && others.length === 0 ? only : thread.getMultiLock(...locks)
    try {
      return waitMs === Infinity
        ? await lock.acquire({ leaseMs: duration })
        : await lock.tryAcquire({ leaseMs: duration, waitMs: Math.min(waitMs, LONGEST_MS) })
    } catch (error) {
      // Closed because the connection has ended, which callers know of.
      throw error instanceof LockError && error.code === 'CLIENT_CLOSED' ? connectionClosed(error) : error
    }
  }
}

/** Checks that need no Redis. @throws InvalidArgumentError */
export function checkRequest(resources: unknown, duration: unknown, durationName: string): void {
  if (!Array.isArray(resources) || resources.length === 0) {
    throw new InvalidArgumentError('resources', resources, 'a list of at least one name')
  }
  for (const resource of resources as unknown[]) {
    if (typeof resource !== 'string' || resource === '') {
      throw new InvalidArgumentError('resources', resource, 'a non-empty string each')
    }
  }
  checkWhole(durationName, duration)
}

/**
 * @returns the clients: what was given may be read only once
 * @throws InvalidArgumentError
 */
export function checkClients(clients: Iterable<RedisClient>): readonly RedisClient[] {
  const given: unknown = clients
  const list = typeof given === 'object' && given && Symbol.iterator in given ? [...clients] : []
  if (list.length === 0) {
    throw new InvalidArgumentError('clients', clients, 'a list of at least one Redis client')
  }
  return list
}

/** @throws InvalidArgumentError */
export function checkLock(
  lock: { readonly resources?: unknown; readonly resource?: unknown } | undefined,
): void {
  if ((lock?.resources ?? lock?.resource) === undefined) {
    throw new InvalidArgumentError('lock', lock, 'what acquire() or lock() resolved with')
  }
}

/** @throws InvalidArgumentError */
export function checkWhole(name: string, value: unknown): void {
  if (!Number.isInteger(value) || (value as number) <= 0 || (value as number) > LONGEST_MS) {
    const error = invalidDuration(name, value)
    if (typeof value === 'number' && value % 1 !== 0 && name === 'duration') {
      // In redlock's words, which callers compare. Ours, which have the value, are the cause.
      throw Object.assign(invalidDuration(name, value), { message: NOT_WHOLE, cause: error })
    }
    throw error
  }
}

function invalidDuration(name: string, value: unknown): InvalidArgumentError {
  return new InvalidArgumentError(name, value, `a whole number of milliseconds, from 1 to ${LONGEST_MS}`)
}
