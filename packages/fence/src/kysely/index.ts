import { CompiledQuery, sql, type Transaction } from 'kysely'
import type { TokenHolder } from '../claim.js'
import { claimOn, type ServerOptions } from '../server.js'
import { type FenceDatabase, STATEMENTS } from '../statements.js'
import { fenceWith, requireTransaction } from '../verdict.js'

/** By what it writes: its quotes and its parameters. Class names of dialects are lost where code is minified. */
function databaseOf<DB>(tx: Transaction<DB>, server: 'mariadb' | 'mysql'): FenceDatabase {
  const { sql: written } = sql`${sql.id('a')}${1}`.compile(tx)
  switch (written) {
    case '"a"$1':
      return 'postgres'
    case '"a"?':
      return 'sqlite'
    case '`a`?':
      return server
    default:
      requireTransaction(tx, false, `of PostgreSQL, MariaDB, MySQL or SQLite, not one that writes ${written}`)
      throw new TypeError(written)
  }
}

/**
 * Refuses a stale holder: raises the token of its name in this transaction, or throws. Call it first, in the outermost
 * transaction, before you read. Waits while another transaction has fenced the same name.
 * @throws StaleHolderError a later holder has fenced; FenceUndecidedError run the transaction again; InvalidArgumentError
 */
export async function fence<DB>(
  tx: Transaction<DB>,
  holder: TokenHolder,
  options: ServerOptions = {},
): Promise<void> {
  const { claim, server } = claimOn(holder, options)
  requireTransaction(tx, tx.isTransaction, 'the argument of the callback of db.transaction().execute()')
  await fenceWith(claim, STATEMENTS[databaseOf(tx, server)], async (statement, parameters) => {
    const { rows } = await tx.executeQuery(CompiledQuery.raw(statement, [...parameters]))
    return rows
  })
}
