import { type SQL, sql } from 'drizzle-orm'
import type { TokenHolder } from '../claim.js'
import { claimOn, type ServerOptions } from '../server.js'
import { type FenceDatabase, STATEMENTS } from '../statements.js'
import { fenceNow, fenceWith, requireOutermost, requireTransaction, rowsOf } from '../verdict.js'

/** A transaction of PostgreSQL, MariaDB or MySQL. */
export interface DrizzleTransaction {
  /**
   * Sends one statement in the transaction. Waits as long as the database does.
   * @throws what the library throws
   */
  execute(query: SQL): PromiseLike<unknown>
  /** Ends the transaction without a commit. @throws always */
  rollback(): never
}

/** A transaction of a SQLite driver that answers at once, as better-sqlite3. */
export interface DrizzleSyncTransaction {
  /** Sends one statement in the transaction, without waiting. @throws what the library throws */
  all(query: SQL): unknown[]
  /** Ends the transaction without a commit. @throws always */
  rollback(): never
}

/** A transaction of a SQLite driver that answers later, as libSQL. */
export interface DrizzleSqliteTransaction {
  /**
   * Sends one statement in the transaction. Waits as long as the database does.
   * @throws what the library throws
   */
  all(query: SQL): PromiseLike<unknown[]>
  /** Ends the transaction without a commit. @throws always */
  rollback(): never
}

/** The statement with its parameters in their places. */
function withParameters(statement: string, parameters: readonly string[]): SQL {
  const [first = '', ...others] = statement.split(/\$\d|\?/)
  return others.reduce((all, text, i) => sql`${all}${parameters[i]}${sql.raw(text)}`, sql.raw(first))
}

/** The names of its classes, which Drizzle itself compares: they outlive minifying. */
function kindsOf(tx: object): string[] {
  const kinds: string[] = []
  let each: unknown = tx.constructor
  while (typeof each === 'function') {
    kinds.push((each as { [ENTITY]?: string })[ENTITY] ?? '')
    each = Object.getPrototypeOf(each)
  }
  return kinds
}

const ENTITY = Symbol.for('drizzle:entityKind')
const TRANSACTIONS = [
  ['PgTransaction', 'postgres'],
  ['MySqlTransaction', 'mysql'],
  ['SQLiteTransaction', 'sqlite'],
] as const

function databaseOf(tx: object, server: 'mariadb' | 'mysql'): FenceDatabase {
  const kinds = kindsOf(tx)
  const [, found] = TRANSACTIONS.find(([kind]) => kinds.includes(kind)) ?? []
  requireTransaction(tx, found !== undefined, 'the argument of the callback of db.transaction()')
  return found === 'mysql' || found === undefined ? server : found
}

/**
 * Refuses a stale holder: raises the token of its name in this transaction, or throws. Call it first, in the outermost
 * transaction, before you read. Waits while another transaction has fenced the same name.
 * Synchronous where the transaction is, as that of better-sqlite3.
 * @throws StaleHolderError a later holder has fenced; FenceUndecidedError run the transaction again; InvalidArgumentError
 */
export function fence(
  tx: DrizzleTransaction | DrizzleSqliteTransaction,
  holder: TokenHolder,
  options?: ServerOptions,
): Promise<void>
export function fence(tx: DrizzleSyncTransaction, holder: TokenHolder, options?: ServerOptions): void
export function fence(
  tx: DrizzleTransaction | DrizzleSqliteTransaction | DrizzleSyncTransaction,
  holder: TokenHolder,
  options: ServerOptions = {},
): Promise<void> | undefined {
  const { resultKind } = tx as { readonly resultKind?: 'sync' | 'async' }
  const isSync = resultKind === 'sync'
  const begin = () => {
    const { claim, server } = claimOn(holder, options)
    const database = databaseOf(tx, server)
    requireOutermost(tx, (tx as { nestedIndex?: number }).nestedIndex === 0)
    return { claim, statements: STATEMENTS[database] }
  }
  if (isSync) {
    const { claim, statements } = begin()
    fenceNow(claim, statements, (statement, parameters) =>
      (tx as DrizzleSyncTransaction).all(withParameters(statement, parameters)),
    )
    return undefined
  }
  return (async () => {
    const { claim, statements } = begin()
    await fenceWith(claim, statements, async (statement, parameters) => {
      const query = withParameters(statement, parameters)
      return rowsOf(await ('execute' in tx ? tx.execute(query) : tx.all(query)))
    })
  })()
}
