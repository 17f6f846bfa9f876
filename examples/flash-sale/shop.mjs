// One shop: takes orders over HTTP, puts them into a queue, and works on the queue beside the other shops.
import { setTimeout as sleep } from 'node:timers/promises'
import { locked } from '@holdfast/bullmq'
import { LockClient } from '@holdfast/core'
import { Queue, QueueEvents, Worker } from 'bullmq'
import Fastify from 'fastify'
import { query } from './database.mjs'

const [item] = process.argv.slice(2)
const { hostname: host, port, password } = new URL(process.env.REDIS_URL)
const connection = { host, port: Number(port || 6379), password, maxRetriesPerRequest: null }
const ofQueue = { connection, prefix: 'flash-sale' }
const locks = await LockClient.connect(process.env.REDIS_URL)

/** Reads the stock, takes a payment, and writes what is left: whoever does the same meanwhile sees the same stock. */
const sell = async ({ data }, _token, signal, hold) => {
  const { rows } = await query('SELECT stock FROM items WHERE id = $1', [item])
  if (rows[0].stock === 0) return 'sold out'
  await sleep(5) // the payment
  signal?.throwIfAborted()
  const left = rows[0].stock - 1
  const { affectedRows } = hold
    ? // Whoever lost the lock without knowing it has a token that is too small.
      await query('UPDATE items SET stock = $1, fence = $2 WHERE id = $3 AND fence <= $2', [
        left,
        hold.token,
        item,
      ])
    : await query('UPDATE items SET stock = $1 WHERE id = $2', [left, item])
  if (affectedRows === 0) throw new Error('somebody with a later token has written')
  await query('INSERT INTO orders VALUES ($1, $2)', [item, data.buyer])
  return 'sold'
}
const processor =
  item === 'guarded'
    ? locked(sell, {
        lock: () => locks.getFencedLock(`flash-sale:${item}`),
        onConflict: 'delay',
        delayMs: 20,
      })
    : (job) => sell(job)

const queue = new Queue(item, ofQueue)
queue.setMaxListeners(0) // one for each order that waits
const events = new QueueEvents(item, ofQueue)
const worker = new Worker(item, processor, { ...ofQueue, concurrency: 5 })
await Promise.all([events.waitUntilReady(), worker.waitUntilReady()])

const app = Fastify()
app.post('/orders', async ({ body }) => {
  const job = await queue.add('order', { buyer: body.buyer }, { attempts: 3 })
  return { outcome: await job.waitUntilFinished(events) }
})
await app.listen({ host: '127.0.0.1', port: 0 })
process.send({ port: app.server.address().port })

process.on('message', async (message) => {
  if (message !== 'close') return
  await app.close()
  await worker.close() // the jobs first, then their locks
  await events.close()
  await queue.close()
  await locks.close()
  process.disconnect()
})
