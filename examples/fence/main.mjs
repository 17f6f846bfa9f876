// A holder is stopped beyond its lease, another takes over and writes, the first goes on and writes: without the guard and
// with it, side by side.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { PGlite } from '@electric-sql/pglite'
import { FENCE_TABLE } from '@holdfast/fence'
import { fence } from '@holdfast/fence/pg'
import { Redis } from 'ioredis'

// PGlite is a PostgreSQL for one process, so the holders write through this one.
const database = await PGlite.create()
await database.exec(`${FENCE_TABLE.postgres}; CREATE TABLE orders (id text PRIMARY KEY, state text NOT NULL)`)

const write = async (order, { state, ...holder }, isGuarded) => {
  try {
    await database.transaction(async (tx) => {
      if (isGuarded) await fence(tx, holder)
      await tx.query('UPDATE orders SET state = $2 WHERE id = $1', [order, state])
    })
    return `wrote "${state}"`
  } catch (error) {
    if (error.code !== 'STALE_HOLDER') throw error
    return `refused: ${error.code}`
  }
}

const start = async (order, state) => {
  const holder = fork(new URL('holder.mjs', import.meta.url), [order, state])
  const [hold] = await once(holder, 'message')
  const finish = async () => {
    holder.send('write')
    const [[wanted]] = await Promise.all([once(holder, 'message'), once(holder, 'exit')])
    return wanted
  }
  return { holder, hold, finish }
}

const play = async (order, isGuarded) => {
  await database.query("INSERT INTO orders VALUES ($1, 'new')", [order])
  const lines = []
  const first = await start(order, 'cancelled')
  lines.push('A has the lock, and is stopped')
  first.holder.kill('SIGSTOP')
  const second = await start(order, 'shipped')
  lines.push("A's lease has ended: B has the lock")
  lines.push(`B ${await write(order, await second.finish(), isGuarded)}`)
  first.holder.kill('SIGCONT')
  lines.push(`A goes on, and ${await write(order, await first.finish(), isGuarded)}`)
  const { rows } = await database.query('SELECT state FROM orders WHERE id = $1', [order])
  lines.push(`the order is "${rows[0].state}"`)
  return { lines, state: rows[0].state }
}

const [without, guarded] = [await play('example-order-1', false), await play('example-order-2', true)]
const width = 42
console.log(`${'without the guard'.padEnd(width)}with it\n`)
without.lines.forEach((line, i) => console.log(line.padEnd(width) + guarded.lines[i]))
await database.close()

const redis = new Redis(process.env.REDIS_URL)
const left = await redis.keys('*example-order*')
if (left.length > 0) await redis.del(...left)
redis.disconnect()
const isRight = without.state === 'cancelled' && guarded.state === 'shipped'
console.log(isRight ? '\nthe guard refused the late write' : '\nNOT as it should be')
process.exitCode = isRight ? 0 : 1
