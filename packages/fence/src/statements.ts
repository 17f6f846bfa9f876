/** The databases whose SQL differs. `mysql` is MySQL itself, which has no RETURNING; it also works on MariaDB. */
export type FenceDatabase = 'postgres' | 'mariadb' | 'mysql' | 'sqlite'

/**
 * How a fence is sent. Every form returns the token that is stored afterwards, as text, and never lowers it: that token is
 * the verdict. A count of rows is none (MariaDB counts an equal token like a greater one), and neither is a plain SELECT
 * afterwards (on MariaDB it shows the transaction's snapshot).
 */
export interface FenceStatements {
  /** Raises the token of a name, and keeps its row locked until the transaction ends. Parameters: name, token. */
  readonly raise: string
  /** Reads the token where `raise` cannot return it: the latest one, not that of the snapshot. Parameter: name. */
  readonly read?: string
}

// CASE, not max() or greatest(): some databases compare those as text or as doubles.
const onConflict = (asText: string): string =>
  'INSERT INTO holdfast_fences AS f (name, token) VALUES ' +
  `(${asText}) ON CONFLICT (name) DO UPDATE ` +
  'SET token = CASE WHEN f.token <= excluded.token THEN excluded.token ELSE f.token END ' +
  'RETURNING CAST(token AS TEXT) AS token'

const onDuplicateKey =
  'INSERT INTO holdfast_fences (name, token) VALUES (?, ?) ' +
  'ON DUPLICATE KEY UPDATE token = IF(token <= VALUES(token), VALUES(token), token)'

const asText = 'CAST(token AS CHAR) AS token'

export const STATEMENTS: Readonly<Record<FenceDatabase, FenceStatements>> = {
  postgres: { raise: onConflict('$1, $2') },
  sqlite: { raise: onConflict('?, ?') },
  mariadb: { raise: `${onDuplicateKey} RETURNING ${asText}` },
  mysql: { raise: onDuplicateKey, read: `SELECT ${asText} FROM holdfast_fences WHERE name = ? FOR UPDATE` },
}

const table = (name: string, token: string): string =>
  `CREATE TABLE IF NOT EXISTS holdfast_fences (\n  name ${name} NOT NULL PRIMARY KEY,\n  token ${token} NOT NULL\n)`

// VARBINARY: a text column of MariaDB and MySQL takes "a", "A" and "a " for one name, and a rightful holder would be refused.
const ofMySql = table('VARBINARY(1536)', 'BIGINT')

/**
 * The SQL of the table, for each database. Run it once, in a migration: nothing in this package creates the table.
 * `npx @holdfast/fence sql postgres` prints it.
 */
export const FENCE_TABLE: Readonly<Record<FenceDatabase, string>> = {
  postgres: table('text', 'bigint'),
  sqlite: table('TEXT', 'INTEGER'),
  mariadb: ofMySql,
  mysql: ofMySql,
}
