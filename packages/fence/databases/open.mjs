/** Opens a connection to one of the databases, by a library of it: `send(statement)` gives rows, `fence(hold)` is its guard. */
const OPEN = {
  async postgres(url) {
    const [{ default: pg }, { fence }] = [await import('pg'), await import('@holdfast/fence/pg')]
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return {
      send: async (statement) => (await client.query(statement)).rows,
      fence: (hold) => fence(client, hold),
      end: () => client.end(),
    }
  },
  async mariadb(url) {
    const { createConnection } = await import('mysql2/promise')
    const { fence } = await import('@holdfast/fence/mysql2')
    const connection = await createConnection(url)
    return {
      send: async (statement) => (await connection.query(statement))[0],
      fence: (hold) => fence(connection, hold),
      end: () => connection.end(),
    }
  },
  async sqlite(url) {
    const { default: Database } = await import('better-sqlite3')
    const { fence } = await import('@holdfast/fence/better-sqlite3')
    const db = new Database(url, { timeout: 5_000 })
    const send = async (statement) => {
      const prepared = db.prepare(statement)
      return prepared.reader ? prepared.all() : prepared.run()
    }
    return { send, fence: (hold) => fence(db, hold), end: () => db.close() }
  },
}

/** @param {'postgres' | 'mariadb' | 'sqlite'} database @param {string} url */
export const open = (database, url) => OPEN[database](url)
