import type { TokenHolder } from '../claim.js'
import { STATEMENTS } from '../statements.js'
import { claimOn, type ServerOptions } from '../server.js'
import { fenceWith, requireTransaction } from '../verdict.js'

/** A connection of `mysql2` or `mysql2/promise`, after `beginTransaction()`. */
export interface Mysql2Transaction {
  /**
   * Sends one statement in the transaction. Waits as long as the database does.
   * @throws what the library throws
   */
  query(statement: string, parameters: string[]): unknown
}

interface Promised {
  query(statement: string, parameters: string[]): PromiseLike<readonly [unknown, ...unknown[]]>
}

/**
 * Refuses a stale holder: raises the token of its name in this transaction, or throws. Call it first, in the outermost
 * transaction, before you read. Waits while another transaction has fenced the same name.
 * @param tx a connection, not the pool
 * @throws StaleHolderError a later holder has fenced; FenceUndecidedError run the transaction again; InvalidArgumentError
 */
export async function fence(
  tx: Mysql2Transaction,
  holder: TokenHolder,
  options: ServerOptions = {},
): Promise<void> {
  const { claim, server } = claimOn(holder, options)
  requireTransaction(tx, !('getConnection' in tx), 'a connection after beginTransaction(), not the pool')
  const connection = 'promise' in tx ? (tx as { promise(): Promised }).promise() : (tx as Promised)
  await fenceWith(claim, STATEMENTS[server], async (statement, parameters) => {
    const [rows] = await connection.query(statement, [...parameters])
    return rows
  })
}
