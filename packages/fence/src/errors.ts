import { LockError } from '@holdfast/core'
import type { Claim } from './claim.js'

/**
 * A later holder has fenced: the transaction must not be committed. Let this error pass, so that your library rolls the
 * transaction back. Trying again does not help: the lock belongs to somebody else.
 */
export class StaleHolderError extends LockError {
  declare readonly code: 'STALE_HOLDER'
  /** The name of the row. */
  readonly fence: string
  readonly token: string
  /** The token that the row has. */
  readonly latestToken: string

  /** @internal */
  constructor({ name, token, tokenKey }: Claim, latestToken: string) {
    const lost = `If Redis has lost the counter, set it above: SET ${tokenKey} ${latestToken}`
    super(
      'STALE_HOLDER',
      `Token ${token} of fence "${name}" is older than ${latestToken}: a later holder has begun. ${lost}`,
    )
    this.fence = name
    this.token = token
    this.latestToken = latestToken
  }
}

/**
 * The database gave no verdict: it ended the transaction for another one (a serialization failure, a deadlock), or did not
 * get the row in time. It says so to stale and to rightful holders alike. Let this error pass, and run the whole transaction
 * again: its next run gives the verdict. `cause` is the error of your library.
 */
export class FenceUndecidedError extends LockError {
  declare readonly code: 'FENCE_UNDECIDED'
  readonly fence: string

  /** @internal */
  constructor(name: string, cause: unknown) {
    super('FENCE_UNDECIDED', `No verdict on fence "${name}": run the whole transaction again`, { cause })
    this.fence = name
  }
}

/**
 * SQLSTATEs of PostgreSQL (serialization failure, deadlock, lock not available), errors of MariaDB and MySQL (ER_CHECKREAD,
 * deadlock, lock wait timeout), result codes of SQLite (BUSY, BUSY_SNAPSHOT), by number and by name.
 */
const UNDECIDED: ReadonlySet<unknown> = new Set<unknown>([
  ...['40001', '40P01', '55P03'],
  ...['1020', 1020, 'ER_CHECKREAD', '1213', 1213, 'ER_LOCK_DEADLOCK', '1205', 1205, 'ER_LOCK_WAIT_TIMEOUT'],
  ...['SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT'],
])
const BUSY = 5
const BUSY_SNAPSHOT = 517
const DEPTH = 8

interface ForeignError {
  readonly code?: unknown
  readonly errno?: unknown
  readonly errcode?: unknown
  readonly originalCode?: unknown
  readonly cause?: unknown
  readonly meta?: { readonly driverAdapterError?: unknown } | undefined
}

/** Whether a library's error, or what it wraps, says that the database has not decided. */
export function isUndecided(error: unknown): boolean {
  let each = error as ForeignError | null | undefined
  for (let depth = 0; typeof each === 'object' && each !== null && depth < DEPTH; depth++) {
    const { code, errno, errcode, originalCode } = each
    if ([code, errno, originalCode].some((value) => UNDECIDED.has(value))) {
      return true
    }
    if (errcode === BUSY || errcode === BUSY_SNAPSHOT) {
      return true
    }
    each = (each.cause ?? each.meta?.driverAdapterError) as ForeignError | undefined
  }
  return false
}
