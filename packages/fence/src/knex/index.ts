import type { TokenHolder } from '../claim.js'
import { claimOn, type ServerOptions } from '../server.js'
import { STATEMENTS } from '../statements.js'
import { fenceWith, requireOutermost, requireTransaction, rowsOf } from '../verdict.js'

/** The `trx` of `knex.transaction()`. */
export interface KnexTransaction {
  readonly isTransaction?: boolean | undefined
  /**
   * Sends one statement in the transaction. Waits as long as the database does.
   * @throws what the library throws
   */
  raw(statement: string, parameters: string[]): PromiseLike<unknown>
}

const DATABASES: Readonly<Record<string, 'postgres' | 'mysql' | 'sqlite'>> = {
  pg: 'postgres',
  postgres: 'postgres',
  postgresql: 'postgres',
  mysql: 'mysql',
  mysql2: 'mysql',
  sqlite3: 'sqlite',
  'better-sqlite3': 'sqlite',
}

/**
 * Refuses a stale holder: raises the token of its name in this transaction, or throws. Call it first, in the outermost
 * transaction, before you read. Waits while another transaction has fenced the same name.
 * @throws StaleHolderError a later holder has fenced; FenceUndecidedError run the transaction again; InvalidArgumentError
 */
export async function fence(
  tx: KnexTransaction,
  holder: TokenHolder,
  options: ServerOptions = {},
): Promise<void> {
  const { claim, server } = claimOn(holder, options)
  const { client, parentTransaction } = tx as {
    readonly client?: { readonly config?: { readonly client?: unknown }; readonly driverName?: string }
    readonly parentTransaction?: { readonly isTransaction?: boolean }
  }
  requireTransaction(tx, tx.isTransaction === true, 'the argument of the callback of knex.transaction()')
  requireOutermost(tx, parentTransaction?.isTransaction !== true)
  const found = DATABASES[client?.driverName ?? String(client?.config?.client)]
  requireTransaction(tx, found !== undefined, 'of PostgreSQL, MariaDB, MySQL or SQLite')
  const database = found === 'mysql' || found === undefined ? server : found
  await fenceWith(claim, STATEMENTS[database], async (statement, parameters) => {
    // Knex has question marks on every database.
    return rowsOf(await tx.raw(statement.replaceAll(/\$\d/g, '?'), [...parameters]))
  })
}
