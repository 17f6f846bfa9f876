// Sixty orders over HTTP for ten pieces, in four shops with one PostgreSQL: without a lock, then with one.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { PGlite } from '@electric-sql/pglite'
import { Redis } from 'ioredis'

const [SHOPS, ORDERS, STOCK] = [4, 60, 10]
process.env.REDIS_URL ??= 'redis://localhost:6379'
const database = await PGlite.create()
await database.exec(`
  CREATE TABLE items (id text PRIMARY KEY, stock int NOT NULL, fence bigint NOT NULL DEFAULT 0);
  CREATE TABLE orders (item text NOT NULL, buyer text NOT NULL)`)

/** A shop of its own process. Its SQL is run here: PGlite is a PostgreSQL for one process. */
const open = async (item) => {
  const shop = fork(new URL('./shop.mjs', import.meta.url), [item])
  shop.on('message', async ({ id, sql, params }) => {
    if (id === undefined) return
    const { rows, affectedRows } = await database.query(sql, params)
    if (shop.connected) shop.send({ id, rows, affectedRows })
  })
  const [{ port }] = await once(shop, 'message')
  return { shop, url: `http://127.0.0.1:${port}/orders` }
}

const sell = async (item) => {
  await database.query('INSERT INTO items (id, stock) VALUES ($1, $2)', [item, STOCK])
  const shops = await Promise.all(Array.from({ length: SHOPS }, () => open(item)))
  const order = async (i) => {
    const body = JSON.stringify({ buyer: `buyer-${i}` })
    const headers = { 'content-type': 'application/json' }
    const response = await globalThis.fetch(shops[i % SHOPS].url, { method: 'POST', headers, body })
    return (await response.json()).outcome
  }
  const outcomes = await Promise.all(Array.from({ length: ORDERS }, (_, i) => order(i)))
  await Promise.all(shops.map(({ shop }) => (shop.send('close'), once(shop, 'exit'))))
  const { rows } = await database.query('SELECT count(*)::int AS sold FROM orders WHERE item = $1', [item])
  const refused = outcomes.filter((outcome) => outcome === 'sold out').length
  console.log(`${item}: ${STOCK} in stock, ${rows[0].sold} sold, ${refused} buyers told "sold out"`)
  return rows[0].sold
}

const unguarded = await sell('unguarded')
const guarded = await sell('guarded')
await database.close()

const redis = new Redis(process.env.REDIS_URL)
const left = await redis.keys('*flash-sale*')
if (left.length > 0) await redis.del(...left)
redis.disconnect()
const isRight = unguarded > STOCK && guarded === STOCK
console.log(isRight ? 'oversold without the lock, not with it' : 'NOT as it should be')
process.exitCode = isRight ? 0 : 1
