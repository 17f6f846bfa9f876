// Decisions of a fence, with every library on every database and level. Run in a project that has the libraries:
// node --test suite.mjs, with FENCE_DATABASES: URLs of PostgreSQL, MariaDB and a file of SQLite; null where there is none.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { FenceUndecidedError, StaleHolderError } from '@holdfast/fence'
import { LIBRARIES } from './libraries.mjs'

const databases = JSON.parse(process.env.FENCE_DATABASES)
const wanted = (process.env.FENCE_ONLY ?? '').split(',').filter(Boolean)
const LEVELS = { pg: ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'] }
const PACKAGES = { drizzle: 'drizzle-orm', prisma: '@prisma/client' }
const NEXT = { token: '9007199254740993', tokenKey: 'k' }
let names = 0

/** A holder of a name of its own, by its place among the holders of that name. */
const holders = () => {
  const tokenKey = `redisson_lock_token:{order ${++names}}`
  return (n) => ({ tokenKey, token: String(1_700_000_000_000_000n + BigInt(n)) })
}
const VALUE = 'SELECT value FROM things WHERE id = 1'
const write = (value) => `UPDATE things SET value = ${value} WHERE id = 1`
const isUndecided = (error) => error instanceof FenceUndecidedError
const isStale = (error) => error instanceof StaleHolderError && error.code === 'STALE_HOLDER'

/** Runs the transaction again as long as the database has not decided, as an application does. */
const untilDecided = async (run) => {
  for (let tries = 0; ; tries++) {
    try {
      return await run()
    } catch (error) {
      if (!isUndecided(error) || tries > 9) throw error
    }
  }
}

const gate = () => {
  let open
  const opened = new Promise((resolve) => (open = resolve))
  return { open, opened }
}

for (const [title, open] of Object.entries(LIBRARIES)) {
  const [name] = title.split(/ on |,/)
  const on = /sqlite/.test(title) ? 'sqlite' : /mysql|maria/.test(title) ? 'mariadb' : 'postgres'
  if (wanted.length > 0 && !wanted.includes(title)) continue
  const isThere = existsSync(`node_modules/${PACKAGES[name] ?? name}`)
  const skip = isThere ? databases[on] === null && `no ${on} here` : 'not installed'
  const levels = on === 'sqlite' ? [undefined] : LEVELS.pg
  for (const level of levels) {
    describe(`${title}${level ? `, ${level}` : ''}`, { skip }, () => {
      let library, fence
      before(async () => {
        library = await open(databases)
        const entry = await import(`@holdfast/fence/${name}`)
        fence = (tx, holder) => entry.fence(tx, holder, library.options)
      })
      after(() => library?.close())

      const inTransaction = (holder, work = async () => undefined) =>
        library.transaction(async (tx) => {
          await fence(tx, holder)
          await work(tx)
        }, level)

      it('lets a holder pass, once more with the same token, and then a later one', async () => {
        const holder = holders()
        for (const n of [1, 1, 2]) await inTransaction(holder(n))
      })

      it('undoes the whole transaction of a stale holder, and names both tokens', async () => {
        const holder = holders()
        await inTransaction(holder(2), (tx) => library.send(tx, write(2)))
        const late = library.transaction(async (tx) => {
          await library.send(tx, write(666))
          await fence(tx, holder(1))
        }, level)
        await assert.rejects(late, (error) => isStale(error) && error.latestToken === holder(2).token)
        let found
        await library.transaction(async (tx) => (found = await library.send(tx, VALUE)))
        assert.doesNotMatch(JSON.stringify(found?.rows ?? found), /666/)
      })

      it('tells tokens beyond 2^53 apart', async () => {
        const { tokenKey } = holders()(0)
        const holder = (token) => ({ tokenKey, token })
        await inTransaction(holder('9007199254740993'))
        await assert.rejects(inTransaction(holder('9007199254740992')), isStale)
        await inTransaction(holder('9223372036854775807'))
        await assert.rejects(inTransaction(holder('9223372036854775806')), isStale)
      })

      it('keeps names apart that differ in case or in blanks at their ends', async () => {
        const token = (n) => String(n)
        await inTransaction({ tokenKey: `K${names}`, token: token(9) })
        for (const tokenKey of [`k${names}`, `K${names} `]) {
          await inTransaction({ tokenKey, token: token(1) })
        }
      })

      it('refuses to fence outside a transaction, where the library shows it', async () => {
        await assert.rejects(async () => fence(library.outside, holders()(1)), { code: 'INVALID_ARGUMENT' })
      })

      it('refuses to fence in a nested transaction, where the library shows it', async (test) => {
        const { nested } = library
        if (!nested) return test.skip('it does not show it')
        const work = (tx) => nested(tx, (inner) => fence(inner, holders()(1)))
        await assert.rejects(library.transaction(work, level), { code: 'INVALID_ARGUMENT' })
      })

      if (on === 'sqlite') return

      it('refuses a stale holder that read before a later one fenced', async () => {
        const holder = holders()
        const late = library.transaction(async (tx) => {
          await library.send(tx, VALUE)
          await untilDecided(() => inTransaction(holder(2)))
          await fence(tx, holder(1))
        }, level)
        await assert.rejects(late, (error) => isStale(error) || isUndecided(error))
        await assert.rejects(
          untilDecided(() => inTransaction(holder(1))),
          isStale,
        )
      })

      it('accepts a rightful holder that read before the stale one fenced, at the latest when it tries again', async () => {
        const holder = holders()
        let isFirst = true
        await untilDecided(() =>
          library.transaction(async (tx) => {
            await library.send(tx, VALUE)
            if (isFirst) {
              isFirst = false
              await untilDecided(() => inTransaction(holder(1)))
            }
            await fence(tx, holder(2))
          }, level),
        )
        await assert.rejects(
          untilDecided(() => inTransaction(holder(1))),
          isStale,
        )
      })

      for (const [first, second, what] of [
        [1, 2, 'accepts the later holder'],
        [2, 1, 'refuses the earlier holder'],
      ]) {
        it(`waits for an open transaction of the same name, and then ${what}`, async () => {
          const holder = holders()
          const [fenced, commit] = [gate(), gate()]
          const held = inTransaction(holder(first), () => (fenced.open(), commit.opened))
          await fenced.opened
          let isDecided = false
          const waiting = untilDecided(() => inTransaction(holder(second))).finally(() => (isDecided = true))
          waiting.catch(() => undefined)
          await new Promise((resolve) => setTimeout(resolve, 50))
          assert.equal(isDecided, false)
          commit.open()
          await held
          await (second === 2 ? waiting : assert.rejects(waiting, isStale))
        })
      }

      it('has no verdict for one of two transactions that fence two names in opposite order', async () => {
        const [one, other] = [holders(), holders()]
        const met = [gate(), gate()]
        const both = (names, mine, others) =>
          library.transaction(async (tx) => {
            await fence(tx, names[0](1))
            mine.open()
            await others.opened
            await fence(tx, names[1](1))
          }, level)
        const results = await Promise.allSettled([
          both([one, other], met[0], met[1]),
          both([other, one], met[1], met[0]),
        ])
        const reasons = results.filter((each) => each.status === 'rejected').map((each) => each.reason)
        assert.equal(reasons.length, 1)
        assert.ok(isUndecided(reasons[0]), String(reasons[0]))
      })
    })
  }
}

/** A database whose transaction answers at once. */
const sqliteOf = (db, transaction) => ({
  db,
  transaction,
  send: (tx, statement) => tx.prepare(statement)[/^SELECT/.test(statement) ? 'all' : 'run'](),
  close: () => db.close(),
})

/** Libraries that answer at once: the fence is no promise, and cannot be. */
const SYNCHRONOUS = {
  'better-sqlite3': async (file) => {
    const { default: Database } = await import('better-sqlite3')
    const db = new Database(file, { timeout: 50 })
    return sqliteOf(db, (work) => db.transaction(() => work(db)).deferred())
  },
  'node-sqlite': async (file) => {
    const { DatabaseSync } = await import('node:sqlite')
    const db = new DatabaseSync(file, { timeout: 50 })
    return sqliteOf(db, (work) => {
      db.exec('BEGIN')
      try {
        work(db)
        db.exec('COMMIT')
      } catch (error) {
        db.exec('ROLLBACK')
        throw error
      }
    })
  },
  drizzle: async (file) => {
    const [{ drizzle }, { sql }] = [await import('drizzle-orm/better-sqlite3'), await import('drizzle-orm')]
    const { default: Database } = await import('better-sqlite3')
    const raw = new Database(file, { timeout: 50 })
    const db = drizzle({ client: raw })
    return {
      db,
      transaction: (work) => db.transaction(work),
      send: (tx, statement) => (/^SELECT/.test(statement) ? tx.all : tx.run).call(tx, sql.raw(statement)),
      close: () => raw.close(),
    }
  },
}

for (const [name, open] of Object.entries(SYNCHRONOUS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  describe(`${name}, synchronous`, () => {
    let one, other, fence
    before(async () => {
      one = await open(databases.sqlite)
      other = await open(databases.sqlite)
      ;({ fence } = await import(`@holdfast/fence/${name}`))
    })
    after(() => [one, other].forEach((each) => each?.close()))

    const inTransaction = (holder, library = one) =>
      library.transaction((tx) => {
        fence(tx, holder)
      })

    it('lets a holder pass twice, and a later one; undoes all of a stale one', () => {
      const holder = holders()
      for (const n of [1, 1, 2]) assert.equal(inTransaction(holder(n)), undefined)
      const late = () =>
        one.transaction((tx) => {
          one.send(tx, write(667))
          fence(tx, holder(1))
        })
      assert.throws(late, (error) => isStale(error) && error.latestToken === holder(2).token)
      assert.doesNotMatch(JSON.stringify(one.send(one.db, VALUE)), /667/)
    })

    it('tells tokens beyond 2^53 apart', () => {
      inTransaction(NEXT)
      assert.throws(() => inTransaction({ ...NEXT, token: '9007199254740992' }), isStale)
    })

    it('has no verdict for a transaction that read before another one wrote', () => {
      const holder = holders()
      const late = () =>
        one.transaction((tx) => {
          one.send(tx, VALUE)
          inTransaction(holder(2), other)
          fence(tx, holder(2))
        })
      assert.throws(late, isUndecided)
      inTransaction(holder(2))
    })

    it('has no verdict while another transaction writes', () => {
      const holder = holders()
      other.transaction((tx) => {
        fence(tx, holder(1))
        assert.throws(() => inTransaction(holder(2)), isUndecided)
      })
    })

    it('refuses to fence outside a transaction', () => {
      assert.throws(() => fence(one.db, holders()(1)), { code: 'INVALID_ARGUMENT' })
    })
  })
}
