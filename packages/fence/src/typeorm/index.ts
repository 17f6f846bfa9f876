import type { TokenHolder } from '../claim.js'
import { claimOn, type ServerOptions } from '../server.js'
import { STATEMENTS } from '../statements.js'
import { fenceWith, requireOutermost, requireTransaction } from '../verdict.js'

/** The `EntityManager` that `dataSource.transaction()` gives its callback. */
export interface TypeormTransaction {
  /**
   * Sends one statement in the transaction. Waits as long as the database does.
   * @throws what the library throws
   */
  query(statement: string, parameters: string[]): PromiseLike<unknown>
}

const DATABASES: Readonly<Record<string, 'postgres' | 'mariadb' | 'mysql' | 'sqlite'>> = {
  postgres: 'postgres',
  mariadb: 'mariadb',
  mysql: 'mysql',
  sqlite: 'sqlite',
  'better-sqlite3': 'sqlite',
}

/**
 * Refuses a stale holder: raises the token of its name in this transaction, or throws. Call it first, in the outermost
 * transaction, before you read. Waits while another transaction has fenced the same name.
 * @throws StaleHolderError a later holder has fenced; FenceUndecidedError run the transaction again; InvalidArgumentError
 */
export async function fence(
  tx: TypeormTransaction,
  holder: TokenHolder,
  options: ServerOptions = {},
): Promise<void> {
  const { claim, server } = claimOn(holder, options)
  const { queryRunner, connection, dataSource } = tx as {
    readonly queryRunner?: { readonly isTransactionActive: boolean; readonly transactionDepth?: number }
    readonly connection?: { readonly options: { readonly type: string } }
    readonly dataSource?: { readonly options: { readonly type: string } }
  }
  const isOpen = queryRunner?.isTransactionActive === true
  requireTransaction(tx, isOpen, 'the argument of the callback of dataSource.transaction()')
  requireOutermost(tx, (queryRunner?.transactionDepth ?? 1) <= 1)
  const found = DATABASES[(dataSource ?? connection)?.options.type ?? '']
  requireTransaction(tx, found !== undefined, 'of PostgreSQL, MariaDB, MySQL or SQLite')
  const database = options.server === undefined ? (found ?? 'postgres') : server
  await fenceWith(claim, STATEMENTS[database], (statement, parameters) =>
    tx.query(statement, [...parameters]),
  )
}
