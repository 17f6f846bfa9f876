// A service in one framework, whose requests count under one lock. Runs against the built packages.
import { LockClient } from '@holdfast/core'
import { Locked } from '@holdfast/core/decorators'
import { expressLocks, fastifyLocks, honoLocks, koaLocks } from '@holdfast/core/http'
import { serveWorker } from '@holdfast/faults/harness'
import { createServer } from 'node:http'
import { Redis } from 'ioredis'

const redis = new Redis(process.env.HOLDFAST_TEST_WORKER_REDIS)
const locks = await LockClient.connect(redis, { bareCalls: 'throw' })
let server

class Counter {
  constructor(key) {
    this.key = key
  }
  /** By hand outside, by a decorated method inside: one context, two levels. */
  async count() {
    const lock = locks.getLock(this.key + ':lock')
    await lock.lock()
    try {
      await this.add()
    } finally {
      await lock.unlock()
    }
    return { ok: true }
  }
  async add() {
    const value = Number((await redis.get(this.key)) ?? 0)
    await redis.set(this.key, value + 1)
  }
}
// A template would write the colons of the key as in a URL.
const locked = Locked({ client: locks, name: () => `${counter.key}:lock` })
Counter.prototype.add = locked(Counter.prototype.add, { kind: 'method', name: 'add' })
let counter

const listening = (made) =>
  new Promise((resolve) => made.listen(0, '127.0.0.1', () => resolve((server = made))))

const frameworks = {
  async express() {
    const { default: express } = await import('express')
    const app = express().use(expressLocks(locks))
    app.post('/', async (_, response) => response.json(await counter.count()))
    await listening(createServer(app))
  },
  async fastify() {
    const { default: Fastify } = await import('fastify')
    const app = Fastify()
    await app.register(fastifyLocks(locks))
    app.post('/', () => counter.count())
    await app.listen({ port: 0, host: '127.0.0.1' })
    server = app.server
  },
  async koa() {
    const { default: Koa } = await import('koa')
    const app = new Koa().use(koaLocks(locks)).use(async (ctx) => (ctx.body = await counter.count()))
    await listening(createServer(app.callback()))
  },
  async hono() {
    const [{ Hono }, { serve }] = await Promise.all([import('hono'), import('@hono/node-server')])
    const app = new Hono().use(honoLocks(locks)).post('/', async (c) => c.json(await counter.count()))
    await new Promise((resolve) => {
      server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, resolve)
    })
  },
}

serveWorker({
  async open(framework, key) {
    counter = new Counter(key)
    await frameworks[framework]()
    return server.address().port
  },
  async close() {
    server.close()
    server.closeAllConnections()
    await locks.close({ graceMs: 0 })
    redis.disconnect()
  },
})
