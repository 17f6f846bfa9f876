import { claimOf, type FenceOptions, type TokenHolder } from '../claim.js'
import { preparedOn } from '../prepared.js'
import { STATEMENTS } from '../statements.js'
import { fenceNow, requireTransaction } from '../verdict.js'

/** A database of `better-sqlite3`, inside `db.transaction()`. */
export interface BetterSqlite3Database {
  readonly inTransaction: boolean
  /** Prepares a statement. @throws what the library throws */
  prepare(statement: string): { all(...parameters: string[]): unknown[] }
}

/**
 * Refuses a stale holder: raises the token of its name in this transaction, or throws. Call it first, before you read.
 * Does not wait longer than the database's `timeout`. It is synchronous, as is the function of `db.transaction()`: prefer
 * `db.transaction(…).immediate()`, which waits for other writers before it reads.
 * @throws StaleHolderError a later holder has fenced; FenceUndecidedError run the transaction again; InvalidArgumentError
 */
export function fence(db: BetterSqlite3Database, holder: TokenHolder, options?: FenceOptions): void {
  const claim = claimOf(holder, options)
  requireTransaction(db, db.inTransaction, 'call it inside db.transaction()')
  fenceNow(claim, STATEMENTS.sqlite, preparedOn(db))
}
