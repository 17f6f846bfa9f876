import { claimOf, type FenceOptions, type TokenHolder } from '../claim.js'
import { STATEMENTS } from '../statements.js'
import { fenceWith, requireTransaction } from '../verdict.js'

/** The `sql` that `sql.begin()` of postgres.js gives its callback. */
export interface PostgresTransaction {
  /**
   * Sends one statement in the transaction. Waits as long as the database does.
   * @throws what the library throws
   */
  unsafe(
    statement: string,
    parameters: string[],
    options: { prepare: boolean },
  ): PromiseLike<readonly unknown[]>
  savepoint: unknown
}

/**
 * Refuses a stale holder: raises the token of its name in this transaction, or throws. Call it first, in the outermost
 * transaction, before you read. Waits while another transaction has fenced the same name.
 * @param tx that of `sql.begin`; in that of `sql.savepoint`, which looks the same, the fence is undone with the savepoint
 * @throws StaleHolderError a later holder has fenced; FenceUndecidedError run the transaction again; InvalidArgumentError
 */
export async function fence(
  tx: PostgresTransaction,
  holder: TokenHolder,
  options?: FenceOptions,
): Promise<void> {
  const claim = claimOf(holder, options)
  requireTransaction(tx, typeof tx.savepoint === 'function', 'the argument of the callback of sql.begin()')
  await fenceWith(claim, STATEMENTS.postgres, (statement, parameters) =>
    // Not prepared, it would be two round trips. A connection with `prepare: false`, as behind PgBouncer, prepares nothing.
    tx.unsafe(statement, [...parameters], { prepare: true }),
  )
}
