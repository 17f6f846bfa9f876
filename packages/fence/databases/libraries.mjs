// How each library opens a database, begins a transaction at a level, and sends a statement in it. `nested` and `outside`:
// where a fence must be refused; absent where the library does not let one see it. Run in a project that has the libraries.

import { createRequire } from 'node:module'

const rollingBack = async (work, { begin, commit, rollback, end }) => {
  try {
    await begin()
    const result = await work()
    await commit()
    return result
  } catch (error) {
    await rollback()
    throw error
  } finally {
    end()
  }
}

const capitalized = (level) =>
  level.replaceAll(/(\w)(\w*) ?/g, (_, first, others) => first + others.toLowerCase())

export const LIBRARIES = {
  async pg({ postgres: url }) {
    const { default: pg } = await import('pg')
    const pool = new pg.Pool({ connectionString: url })
    return {
      transaction: async (work, level = 'READ COMMITTED') => {
        const client = await pool.connect()
        return rollingBack(() => work(client), {
          begin: () => client.query(`BEGIN ISOLATION LEVEL ${level}`),
          commit: () => client.query('COMMIT'),
          rollback: () => client.query('ROLLBACK'),
          end: () => client.release(),
        })
      },
      send: (tx, statement) => tx.query(statement),
      outside: pool,
      close: () => pool.end(),
    }
  },

  async postgres({ postgres: url }) {
    const { default: postgres } = await import('postgres')
    const sql = postgres(url, { onnotice: () => undefined })
    return {
      transaction: (work, level = 'READ COMMITTED') => sql.begin(`ISOLATION LEVEL ${level}`, work),
      send: (tx, statement) => tx.unsafe(statement),
      outside: sql,
      close: () => sql.end(),
    }
  },

  mysql2: ({ mariadb }) => mysql2(mariadb),
  // MariaDB has it on by default from 11.6.2.
  'mysql2, snapshot isolation': ({ mariadb }) =>
    mysql2(mariadb, 'SET SESSION innodb_snapshot_isolation = ON'),
  // Two statements, without RETURNING; MySQL itself is not run.
  'mysql2, as on MySQL': async ({ mariadb }) => ({
    ...(await mysql2(mariadb)),
    options: { server: 'mysql' },
  }),

  'kysely on pg': async ({ postgres: url }) => {
    const [{ Kysely, PostgresDialect }, { default: pg }] = [await import('kysely'), await import('pg')]
    return kysely(
      new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) }),
    )
  },
  'kysely on mysql2': async ({ mariadb }) => {
    const [{ Kysely, MysqlDialect }, { createPool }] = [await import('kysely'), await import('mysql2')]
    return kysely(new Kysely({ dialect: new MysqlDialect({ pool: createPool(mariadb) }) }))
  },
  'kysely on better-sqlite3': async ({ sqlite }) => {
    const [{ Kysely, SqliteDialect }, { default: Database }] = [
      await import('kysely'),
      await import('better-sqlite3'),
    ]
    return kysely(new Kysely({ dialect: new SqliteDialect({ database: new Database(sqlite) }) }), true)
  },

  'drizzle on pg': async ({ postgres: url }) => {
    const [{ drizzle }, { default: pg }] = [await import('drizzle-orm/node-postgres'), await import('pg')]
    const pool = new pg.Pool({ connectionString: url })
    return drizzled(drizzle(pool), () => pool.end())
  },
  'drizzle on postgres': async ({ postgres: url }) => {
    const [{ drizzle }, { default: postgres }] = [
      await import('drizzle-orm/postgres-js'),
      await import('postgres'),
    ]
    const sql = postgres(url, { onnotice: () => undefined })
    // Its nested transactions do not count themselves.
    return { ...(await drizzled(drizzle(sql), () => sql.end())), nested: undefined }
  },
  'drizzle on mysql2': async ({ mariadb }) => {
    const [{ drizzle }, { createPool }] = [await import('drizzle-orm/mysql2'), await import('mysql2/promise')]
    const pool = createPool(mariadb)
    return drizzled(drizzle(pool), () => pool.end())
  },

  'knex on pg': ({ postgres }) => knex({ client: 'pg', connection: postgres }),
  'knex on mysql2': ({ mariadb }) => knex({ client: 'mysql2', connection: mariadb }),
  'knex on better-sqlite3': ({ sqlite }) =>
    knex({ client: 'better-sqlite3', connection: { filename: sqlite }, useNullAsDefault: true }),

  'typeorm on pg': ({ postgres: url }) => typeorm({ type: 'postgres', url }),
  'typeorm on mysql2': ({ mariadb: url }) => typeorm({ type: 'mysql', url }, { server: 'mariadb' }),
  'typeorm on better-sqlite3': ({ sqlite }) => typeorm({ type: 'better-sqlite3', database: sqlite }),

  'prisma on pg': async ({ postgres: connectionString }) => {
    const { PrismaPg } = await import('@prisma/adapter-pg')
    return prisma('postgresql', new PrismaPg({ connectionString }))
  },
  'prisma on mariadb': async ({ mariadb }) => {
    const { PrismaMariaDb } = await import('@prisma/adapter-mariadb')
    return prisma('mysql', new PrismaMariaDb(mariadb))
  },
}

const mysql2 = async (url, setting) => {
  const { createPool } = await import('mysql2/promise')
  const pool = createPool(url)
  return {
    transaction: async (work, level = 'REPEATABLE READ') => {
      const connection = await pool.getConnection()
      return rollingBack(() => work(connection), {
        begin: async () => {
          if (setting) await connection.query(setting)
          await connection.query(`SET TRANSACTION ISOLATION LEVEL ${level}`)
          await connection.beginTransaction()
        },
        commit: () => connection.commit(),
        rollback: () => connection.rollback(),
        end: () => connection.release(),
      })
    },
    send: (tx, statement) => tx.query(statement),
    outside: pool,
    close: () => pool.end(),
  }
}

const kysely = async (db, isAlone = false) => {
  const { sql } = await import('kysely')
  return {
    isAlone,
    transaction: (work, level) => {
      const begun = db.transaction()
      return (level ? begun.setIsolationLevel(level.toLowerCase()) : begun).execute(work)
    },
    send: (tx, statement) => sql.raw(statement).execute(tx),
    outside: db,
    close: () => db.destroy(),
  }
}

const drizzled = async (db, close) => {
  const { sql } = await import('drizzle-orm')
  return {
    transaction: (work, level) =>
      db.transaction(work, level ? { isolationLevel: level.toLowerCase() } : undefined),
    send: (tx, statement) => tx.execute(sql.raw(statement)),
    outside: db,
    nested: (tx, work) => tx.transaction(work),
    close,
  }
}

const knex = async (config) => {
  const { default: make } = await import('knex')
  const { version } = createRequire(import.meta.url)('knex/package.json')
  const db = make(config)
  return {
    isAlone: config.client === 'better-sqlite3',
    transaction: (work, level) => db.transaction(work, level && { isolationLevel: level.toLowerCase() }),
    send: (tx, statement) => tx.raw(statement),
    outside: db,
    // It has told of its parent since 3.3.
    nested: /^3\.[0-2]\./.test(version) ? undefined : (tx, work) => tx.transaction(work),
    close: () => db.destroy(),
  }
}

const typeorm = async (config, options) => {
  const { DataSource } = await import('typeorm')
  const source = await new DataSource(config).initialize()
  return {
    options,
    isAlone: config.type === 'better-sqlite3',
    transaction: (work, level) =>
      level ? source.manager.transaction(level, work) : source.manager.transaction(work),
    send: (tx, statement) => tx.query(statement),
    outside: source.manager,
    nested: (tx, work) => tx.transaction(work),
    close: () => source.destroy(),
  }
}

const prisma = async (provider, adapter) => {
  const { PrismaClient } = await import(new URL(`prisma-${provider}/client.ts`, import.meta.url))
  const client = new PrismaClient({ adapter })
  return {
    transaction: (work, level) =>
      client.$transaction(work, {
        timeout: 20_000,
        ...(level && { isolationLevel: capitalized(level).replaceAll(' ', '') }),
      }),
    send: (tx, statement) =>
      /^SELECT/.test(statement) ? tx.$queryRawUnsafe(statement) : tx.$executeRawUnsafe(statement),
    outside: client,
    close: () => client.$disconnect(),
  }
}
