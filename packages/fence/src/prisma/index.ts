import { claimOf, type FenceOptions, type TokenHolder } from '../claim.js'
import { type FenceDatabase, STATEMENTS } from '../statements.js'
import { fenceWith, requireTransaction } from '../verdict.js'

/** The client that `prisma.$transaction(async (tx) => …)` gives its callback. */
export interface PrismaTransaction {
  /**
   * Sends one statement in the transaction. Waits as long as the database does.
   * @throws what the library throws
   */
  $queryRawUnsafe(statement: string, ...parameters: string[]): PromiseLike<unknown>
}

/** Which row a fence raises, and in what database. */
export interface PrismaFenceOptions extends FenceOptions {
  /** The database. Default: by the provider of the schema; `'mysql'` means MariaDB, unless it is said here. */
  readonly database?: FenceDatabase | undefined
}

const PROVIDERS: Readonly<Record<string, FenceDatabase>> = {
  postgresql: 'postgres',
  postgres: 'postgres',
  cockroachdb: 'postgres',
  mysql: 'mariadb',
  sqlite: 'sqlite',
}

/**
 * Refuses a stale holder: raises the token of its name in this transaction, or throws. Call it first, in the outermost
 * transaction, before you read. Waits while another transaction has fenced the same name.
 * That wait is not ended by Prisma's `timeout`: send `SET LOCAL lock_timeout` before it where that matters.
 * @throws StaleHolderError a later holder has fenced; FenceUndecidedError run the transaction again; InvalidArgumentError
 */
export async function fence(
  tx: PrismaTransaction,
  holder: TokenHolder,
  { database, ...options }: PrismaFenceOptions = {},
): Promise<void> {
  const claim = claimOf(holder, options)
  const { $connect, _activeProvider = '' } = tx as { $connect?: unknown; _activeProvider?: string }
  requireTransaction(
    tx,
    typeof $connect !== 'function',
    'the argument of the callback of prisma.$transaction()',
  )
  const statements = STATEMENTS[database ?? PROVIDERS[_activeProvider] ?? 'postgres']
  await fenceWith(claim, statements, (statement, parameters) => tx.$queryRawUnsafe(statement, ...parameters))
}
