import { claimOf, type FenceOptions, type TokenHolder } from '../claim.js'
import { preparedOn } from '../prepared.js'
import { STATEMENTS } from '../statements.js'
import { fenceNow, requireTransaction } from '../verdict.js'

/** A `DatabaseSync` of `node:sqlite`, after `BEGIN IMMEDIATE`. */
export interface NodeSqliteDatabase {
  /** Since Node 22.16. */
  readonly isTransaction?: boolean
  /** Prepares a statement. @throws what the library throws */
  prepare(statement: string): { all(...parameters: string[]): unknown[] }
}

/**
 * Refuses a stale holder: raises the token of its name in this transaction, or throws. Call it first, before you read.
 * Does not wait longer than the database's `timeout`. It is synchronous, as is `node:sqlite`.
 * @throws StaleHolderError a later holder has fenced; FenceUndecidedError run the transaction again; InvalidArgumentError
 */
export function fence(db: NodeSqliteDatabase, holder: TokenHolder, options?: FenceOptions): void {
  const claim = claimOf(holder, options)
  requireTransaction(db, db.isTransaction !== false, "exec('BEGIN IMMEDIATE') first")
  fenceNow(claim, STATEMENTS.sqlite, preparedOn(db))
}
