import { claimOf, type FenceOptions, type TokenHolder } from '../claim.js'
import { STATEMENTS } from '../statements.js'
import { fenceWith, requireTransaction } from '../verdict.js'

/** A client of `pg` after `BEGIN`, or the transaction of PGlite. */
export interface PgTransaction {
  /**
   * Sends one statement in the transaction. Waits as long as the database does.
   * @throws what the library throws
   */
  query(statement: string, parameters: string[]): PromiseLike<{ readonly rows: readonly unknown[] }>
}

/**
 * Refuses a stale holder: raises the token of its name in this transaction, or throws. Call it first, in the outermost
 * transaction, before you read. Waits while another transaction has fenced the same name.
 * @param tx a client, not the pool: with a pool each statement may take another connection
 * @throws StaleHolderError a later holder has fenced; FenceUndecidedError run the transaction again; InvalidArgumentError
 */
export async function fence(tx: PgTransaction, holder: TokenHolder, options?: FenceOptions): Promise<void> {
  const claim = claimOf(holder, options)
  const told = tx as { readonly totalCount?: unknown; getTransactionStatus?(): string | null }
  const isPool = told.totalCount !== undefined
  requireTransaction(tx, !isPool, 'the client of pool.connect() after BEGIN, not the pool')
  // pg tells it since 8.21.
  requireTransaction(tx, told.getTransactionStatus?.() !== 'I', "query('BEGIN') first")
  await fenceWith(claim, STATEMENTS.postgres, async (statement, parameters) => {
    const { rows } = await tx.query(statement, [...parameters])
    return rows
  })
}
