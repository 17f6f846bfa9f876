import { InvalidArgumentError } from '@holdfast/core'
import { quit } from './closing.js'
import type { RedisClient } from './redis-client.js'

/** Members common to clients that can be opened once more. */
interface Duplicable {
  readonly options?: { readonly db?: unknown; readonly database?: unknown }
  readonly isCluster?: boolean
  readonly isOpen?: boolean
  duplicate?(overrides: object): RedisClient & Duplicable
  once(event: 'end', listener: () => void): unknown
  on(event: 'error', listener: () => void): unknown
  connect(): Promise<unknown>
  /** The option of ioredis. */
  disconnect?(): unknown
  /** The option of node-redis. */
  destroy?(): unknown
}

/** For each client those that are open beside it, by database: all redlocks on the client share them. */
const duplicates = new WeakMap<RedisClient, Map<number, RedisClient & Duplicable>>()

const partOf = (client: object): Duplicable => client as Duplicable

/** The highest number that a `db` may have: servers have 16 databases unless they are told otherwise. */
const LAST_DATABASE = 15

/** The database that `given` asks for; undefined for none. What is no number of one is told of, and asks for none. */
export function databaseOf(given: unknown): number | undefined {
  if (given === undefined) {
    return undefined
  }
  if (Number.isInteger(given) && (given as number) >= 0 && (given as number) <= LAST_DATABASE) {
    return given as number
  }
  const said = `Redlock ignores db: ${JSON.stringify(given)}, which is not a whole number from 0 to ${LAST_DATABASE}`
  process.emitWarning(`${said}. The locks are in the database of the client.`, {
    type: 'HoldfastWarning',
    code: 'HOLDFAST_REDLOCK_DB',
  })
  return undefined
}

/** The database that a client was made for. */
export function ownDatabaseOf(client: RedisClient | undefined): number {
  const { db, database } = (client && partOf(client).options) ?? {}
  return [db, database].find((each): each is number => typeof each === 'number') ?? 0
}

/**
 * Checks that locks of this client can be in that database.
 * @throws InvalidArgumentError a cluster, which has one database; a client that cannot be opened once more
 */
export function checkDatabase(client: RedisClient, db: number): void {
  if (isCluster(client)) {
    if (db !== 0) {
      throw new InvalidArgumentError('db', db, '0 with a cluster, which has no other database')
    }
  } else if (isOfSeveral(client) || typeof partOf(client).duplicate !== 'function') {
    throw new InvalidArgumentError(
      'db',
      db,
      'left out with a pool or Sentinel client of node-redis, of which no other database can be opened: make the client with the database',
    )
  }
}

/**
 * The client whose locks are in that database: another connection, which ends with the one given. That is not used even
 * where its database is the same, because it may be told to `SELECT` another.
 */
export function clientIn(client: RedisClient, db: number | undefined): RedisClient {
  if (db === undefined || isCluster(client)) {
    return client
  }
  const known = duplicates.get(client) ?? new Map<number, RedisClient & Duplicable>()
  const open = known.get(db)
  if (open) {
    return open
  }
  if ('status' in client && client.status === 'end') {
    // Its end would never be told; what is on it fails as it should.
    return client
  }
  if (!duplicates.has(client)) {
    duplicates.set(client, known)
    partOf(client).once('end', () => {
      duplicates.delete(client)
      known.forEach(end)
    })
  }
  const made = opened(client, db)
  known.set(db, made)
  made.once('end', () => known.delete(db))
  return made
}

/** Ends a client and those in other databases, and resolves when nothing is open any more. */
export async function quitWithDatabases(client: RedisClient): Promise<unknown> {
  const beside = duplicates.get(client)
  if (!beside) {
    return quit(client)
  }
  const ended = new Promise<void>((resolve) => partOf(client).once('end', resolve))
  await Promise.all([...beside.values()].map(quit))
  const reply = await quit(client)
  await ended
  return reply
}

function opened(client: RedisClient, db: number): RedisClient & Duplicable {
  const isNodeRedis = typeof partOf(client).isOpen === 'boolean'
  // The database of a node-redis's URL would take the place of the one that is asked for; its other parts are options by now.
  const overrides = isNodeRedis ? { database: db, url: undefined } : { db }
  const made = (partOf(client) as Required<Duplicable>).duplicate(overrides)
  // Calls are told what became of them; the client that was given tells its own listeners.
  made.on('error', () => undefined)
  if (isNodeRedis) {
    made.connect().catch(() => undefined)
  }
  return made
}

function end(client: Duplicable): void {
  ;(client.destroy ?? client.disconnect)?.call(client)
}

function isCluster(client: object): boolean {
  return partOf(client).isCluster === true || ('nodeClient' in client && 'getRandomNode' in client)
}

function isOfSeveral(client: object): boolean {
  return 'getMasterNode' in client || 'totalClients' in client
}
