import type { SendNow } from './verdict.js'

interface Prepared {
  all(...parameters: string[]): unknown[]
}

interface Preparing {
  prepare(statement: string): Prepared
}

const known = new WeakMap<Preparing, Prepared>()

/** Sends the one statement of SQLite's fences. It is prepared once for each database: that takes longer than to run it. */
export function preparedOn(db: Preparing): SendNow {
  return (statement, parameters) => {
    const prepare = (): Prepared => {
      const prepared = db.prepare(statement)
      known.set(db, prepared)
      return prepared
    }
    try {
      return (known.get(db) ?? prepare()).all(...parameters)
    } catch (error) {
      // A database of node:sqlite that was closed and opened again.
      if ((error as { code?: unknown }).code !== 'ERR_INVALID_STATE') throw error
      return prepare().all(...parameters)
    }
  }
}
