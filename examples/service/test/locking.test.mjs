// How the service locks, tested without a Redis: the locks are real, and so is their server, in this process.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { afterEach, beforeEach, test } from 'node:test'
import { LockClient } from '@holdfast/core'
import { TestRedis } from '@holdfast/testing'
import Fastify from 'fastify'
import { addRoutes } from '../src/http.mjs'
import { createPayments } from '../src/payments.mjs'
import { createSweep } from '../src/sweep.mjs'

let redis
let locks
let elsewhere
let app
let charges
let queued
/** The bank's work before it answers. */
let atTheBank

beforeEach(async () => {
  redis = new TestRedis()
  // Two clients, as two processes have them.
  locks = new LockClient(redis)
  elsewhere = new LockClient(redis)
  charges = []
  queued = []
  atTheBank = async () => undefined
  const orders = new OrdersInMemory()
  const partners = {
    async charge({ id }, signal) {
      await atTheBank(signal)
      signal.throwIfAborted()
      charges.push(id)
      return `charge-${charges.length}`
    },
  }
  const shipping = { add: async ({ id }) => queued.push(id) }
  const payments = createPayments({ locks, orders, partners, shipping })
  app = Fastify()
  await addRoutes(app, { locks, orders, payments })
})
afterEach(async () => {
  await app.close()
  await Promise.all([locks.close({ graceMs: 0 }), elsewhere.close({ graceMs: 0 })])
})

const pay = (id) => app.inject({ method: 'POST', url: `/orders/${id}/payment` })

test('two payments of one order at once: the bank is asked once, and both get the same charge', async () => {
  const answers = await Promise.all([pay('42'), pay('42')])
  assert.deepEqual(charges, ['42'])
  assert.deepEqual(queued, ['42'])
  for (const answer of answers) assert.equal(answer.json().charge, 'charge-1')
})

test('an order that is being paid elsewhere is 409 after half a second, and says when to try again', async () => {
  await elsewhere.getLock('payment:42').acquire()
  const answer = pay('42')
  await redis.advance(500)
  const { statusCode, headers } = await answer
  assert.equal(statusCode, 409)
  assert.equal(headers['retry-after'], '1')
  assert.deepEqual(charges, [])
})

test('without Redis nothing is paid: 503, and the health says so', async () => {
  redis.stop()
  const answers = [pay('42'), app.inject('/health')]
  await redis.advance(3_000)
  for (const answer of await Promise.all(answers)) assert.equal(answer.statusCode, 503)
  assert.deepEqual(charges, [])
})

test('a client that goes away ends its wait', async () => {
  const hold = await elsewhere.getLock('payment:42').acquire()
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const waiting = new Promise((resolve) => locks.on('waiting', resolve))
  const client = request(`${url}/orders/42/payment`, { method: 'POST' }).on('error', () => undefined)
  client.end()
  const [connection] = await once(app.server, 'connection')
  await waiting
  client.destroy()
  await once(connection, 'close')
  await hold.release()
  await redis.advance(500)
  assert.deepEqual(charges, [])
})

test('a payment that loses its lock is called off, and nobody is told that it was made', async () => {
  atTheBank = async () => {
    redis.drop('payment:42')
    await redis.advance(30_000) // the next renewal finds out
  }
  const answer = await pay('42')
  assert.equal(answer.statusCode, 500)
  assert.equal(answer.json().code, 'LOCK_LOST')
  assert.deepEqual(charges, [])
})

test('a tick of the sweep runs in one process, and finds what is in no queue', async () => {
  const orders = { unshipped: async () => [{ id: '42' }] }
  const shipping = { add: async ({ id }) => queued.push(id) }
  const log = { info: () => undefined }
  const sweeps = [locks, elsewhere].map((client) => createSweep({ locks: client, orders, shipping, log }))
  const outcomes = []
  // The clock of the second process is a little late: by then the first has swept.
  for (const sweep of sweeps) outcomes.push(await sweep({ tick: 60_000 }))
  assert.deepEqual(
    outcomes.map(({ kind, reason }) => reason ?? kind),
    ['ran', 'done'],
  )
  assert.deepEqual(queued, ['42'])
})

/** Every order is there, and is not paid. */
class OrdersInMemory {
  #charges = new Map()

  async find(id) {
    const charge = this.#charges.get(id)
    return { id, state: charge ? 'paid' : 'new', charge }
  }

  async markPaid(id, charge) {
    this.#charges.set(id, charge)
    return this.find(id)
  }
}
