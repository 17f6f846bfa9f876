// The table "What keeps a context" of docs/contexts.md: in whose context a library runs the work of the second of two
// callers, and that the cure keeps two of them from being inside one lock at once.
import { AsyncResource } from 'node:async_hooks'
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { Buffer } from 'node:buffer'
import { createServer } from 'node:http'
import { connect, createServer as createSocketServer } from 'node:net'
import { detached, LockClient } from '@holdfast/core'
import async from 'async'
import DataLoader from 'dataloader'
import express from 'express'
import Fastify from 'fastify'
import fastq from 'fastq'
import genericPool from 'generic-pool'
import { Redis } from 'ioredis'
import knex from 'knex'
import multer from 'multer'
import mysql from 'mysql2'
import pLimit from 'p-limit'
import pLimit4 from 'p-limit4'
import pg from 'pg'
import Piscina from 'piscina'
import postgres from 'postgres'
import { Pool } from 'undici'
import PQueue from 'p-queue'
import PQueue9 from 'p-queue9'
import { concatMap, Subject } from 'rxjs'

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const storage = new AsyncLocalStorage()
const listening = async (server) => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server.address().port
}

/** A PostgreSQL that answers every command with "done", and knows when it is in a transaction. */
const postgresServer = createSocketServer((socket) => {
  const message = (type, ...bytes) => Buffer.from([type.charCodeAt(0), 0, 0, 0, bytes.length + 4, ...bytes])
  const done = message('C', ...Buffer.from('OK\0'))
  let [input, isGreeted, state] = [Buffer.alloc(0), false, 'I']
  const repliesTo = (type, text) => {
    if (/begin|commit/i.test(text)) state = /begin/i.test(text) ? 'T' : 'I'
    const ready = message('Z', state.charCodeAt(0))
    const replies = { Q: [done, ready], P: [message('1')], B: [message('2')], D: [message('n')], E: [done] }
    return { ...replies, S: [ready], '': [message('R', 0, 0, 0, 0), ready] }[type] ?? []
  }
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    input = Buffer.concat([input, chunk])
    for (;;) {
      const head = isGreeted ? 1 : 0
      if (input.length < head + 4 || input.length < head + input.readInt32BE(head)) return
      const end = head + input.readInt32BE(head)
      const [type, text] = [input.toString('latin1', 0, head), input.toString('latin1', head, end)]
      input = input.subarray(end)
      for (const reply of repliesTo(type, text)) socket.write(reply)
      isGreeted = true
    }
  })
})
const url = `postgres://user@127.0.0.1:${await listening(postgresServer)}/street`
const mysqlServer = mysql.createServer()
mysqlServer.on('connection', (link) => {
  link.serverHandshake({
    protocolVersion: 10,
    serverVersion: '8',
    connectionId: 1,
    statusFlags: 2,
    characterSet: 8,
    capabilityFlags: 0xffffff,
  })
  link.on('error', () => undefined)
})
mysqlServer.listen(0, '127.0.0.1')
await once(mysqlServer._server, 'listening')
const mysqlOptions = { port: mysqlServer._server.address().port, host: '127.0.0.1', connectionLimit: 1 }

const echo = createServer((_request, response) => {
  response.write('x'.repeat(100_000))
  setTimeout(() => response.end('y'), 5)
})
const echoAt = `http://127.0.0.1:${await listening(echo)}`

/** Work inside a callback, and what its caller awaits. */
const called = (begin) => new Promise((resolve) => begin(resolve))

/** Calls `next()` of an async generator that works. */
const nextOf = (work) => {
  const generator = (async function* () {
    for (let job = yield; ;) job = yield await work(job)
  })()
  void generator.next()
  return (job) => generator.next(job)
}

/** Each with a function that puts one job in, and calls the work for it. */
const LIBRARIES = {
  fastq: (work) => {
    const queue = fastq.promise(work, 1)
    return (job) => queue.push(job)
  },
  'async.queue': (work) => {
    const queue = async.queue(async (job) => work(job), 1)
    return (job) => queue.pushAsync(job)
  },
  DataLoader: (work) => {
    const loader = new DataLoader((jobs) => Promise.all(jobs.map(work)), { cache: false })
    return (job) => loader.load(job)
  },
  concatMap: (work) => {
    const [jobs, ends] = [new Subject(), new Map()]
    jobs.pipe(concatMap(async (job) => ends.get(job)(await work(job)))).subscribe()
    return (job) => new Promise((resolve) => void (ends.set(job, resolve), jobs.next(job)))
  },
  'p-queue up to 9': (work) => {
    const queue = new PQueue9({ concurrency: 1 })
    return (job) => queue.add(() => work(job))
  },
  'p-limit up to 4': (work) => {
    const limit = pLimit4(1)
    return (job) => limit(() => work(job))
  },
  'pool.connect(cb)': (work) => {
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    return (job) =>
      called((resolve) =>
        pool.connect((_error, _client, release) => work(job).then(() => (release(), resolve()))),
      )
  },
  'getConnection(cb)': (work) => {
    const pool = mysql.createPool(mysqlOptions)
    return (job) =>
      called((resolve) =>
        pool.getConnection((_error, link) => work(job).then(() => (link.release(), resolve()))),
      )
  },
  'the factory of generic-pool': (work) => {
    let next
    const pool = genericPool.createPool(
      { create: async () => next && (await work(next)), destroy: async () => undefined },
      { max: 1 },
    )
    return async (job) => {
      const resource = await pool.acquire()
      next = job === 'first' ? 'second' : undefined
      if (job === 'first') await sleep(20)
      await pool.destroy(resource)
    }
  },
  "`body.on('data')` of undici": (work) => {
    const pool = new Pool(echoAt, { connections: 1 })
    return async (job) => {
      const { body } = await pool.request({ path: '/', method: 'GET' })
      await called((resolve) => body.on('data', () => undefined).on('end', () => work(job).then(resolve)))
    }
  },
  'listeners of a socket': (work) => {
    let socket
    return (job) =>
      called((resolve) => {
        socket ??= connect(new URL(echoAt).port, '127.0.0.1').unref()
        socket.once('data', () => work(job).then(resolve))
        socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      })
  },
  'of a Redis connection': (work) => {
    let subscriber
    return (job) =>
      called(async (resolve) => {
        subscriber ??= new Redis(process.env.REDIS_URL)
        await subscriber.subscribe(job)
        subscriber.once('message', () => work(job).then(resolve))
        await publisher.publish(job, '')
      })
  },
  'a listener of an `AbortSignal`': (work) => {
    // Whoever calls abort() here is always the first.
    let abort
    return (job) =>
      called((resolve) => {
        const controller = new AbortController()
        controller.signal.addEventListener('abort', () => work(job).then(resolve))
        abort ??= AsyncResource.bind((each) => each.abort())
        abort(controller)
      })
  },
  'a promise of `pg`': (work) => {
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    return async (job) => {
      const client = await pool.connect()
      await work(job)
      client.release()
    }
  },
  '`postgres`': (work) => {
    const sql = postgres(url, { max: 1, fetch_types: false })
    return (job) => sql.begin(() => work(job))
  },
  '`knex`': (work) => {
    const db = knex({ client: 'pg', version: '16', connection: url, pool: { min: 0, max: 1 } })
    return (job) => db.transaction(() => work(job))
  },
  '`mysql2`': (work) => {
    const pool = mysql.createPool(mysqlOptions).promise()
    return async (job) => {
      const link = await pool.getConnection()
      await work(job)
      link.release()
    }
  },
  '`piscina.run` after its `await`': (work) => {
    writeFileSync('thread.mjs', 'export default () => undefined')
    const pool = new Piscina({ filename: new URL('thread.mjs', import.meta.url).href, maxThreads: 1 })
    return async (job) => {
      await pool.run()
      await work(job)
    }
  },
  'read by `for await`': (work) => {
    const pool = new Pool(echoAt, { connections: 1 })
    return async (job) => {
      const { body } = await pool.request({ path: '/', method: 'GET' })
      for await (const chunk of body) if (chunk.length === 1) await work(job)
    }
  },
  multer: async (work) => {
    const app = express()
    app.use((request, _response, next) => storage.run(request.get('who'), next))
    app.post('/', multer().single('file'), async (request, response) => {
      await locks.run(() => work(request.get('who')))
      response.end()
    })
    const at = `http://127.0.0.1:${await listening(createServer(app))}`
    return (job) => {
      const head = ['--b', 'Content-Disposition: form-data; name="file"; filename="file"', '']
      const body = [...head, 'x'.repeat(300_000), '--b--', ''].join('\r\n')
      const headers = { who: job, 'content-type': 'multipart/form-data; boundary=b' }
      return fetch(at, { method: 'POST', headers, body })
    }
  },
  "Fastify's hooks": async (work) => {
    const app = Fastify()
    app.addHook('onRequest', (request, _reply, done) => storage.run(request.headers.who, done))
    app.addHook('preHandler', (request) => locks.run(() => work(request.headers.who)))
    app.post('/', () => 'done')
    const at = await app.listen({ port: 0, host: '127.0.0.1' })
    return (job) => fetch(at, { method: 'POST', headers: { who: job } })
  },
  'an async generator': (work) => {
    const next = nextOf(work)
    let before = Promise.resolve()
    return (job) => (before = before.then(() => next(job)))
  },
  '`next()` of a generator while another is under way': (work) => nextOf(work),
  'p-queue 10': (work) => {
    const queue = new PQueue({ concurrency: 1 })
    return (job) => queue.add(() => work(job))
  },
  'p-limit from 5': (work) => {
    const limit = pLimit(1)
    return (job) => limit(() => work(job))
  },
}

const locks = await LockClient.connect(process.env.REDIS_URL)
const publisher = new Redis(process.env.REDIS_URL)
const page = JSON.parse(readFileSync('recipes.json', 'utf8'))['docs/contexts.md']['What keeps a context']

/** In whose context the second job runs, of two that wait for each other. */
const contextOfSecond = async (library) => {
  let seen
  const push = await library(async (job) => {
    if (job === 'second') seen = storage.getStore()
    await sleep(20)
  })
  await Promise.all(['first', 'second'].map((who) => storage.run(who, () => push(who))))
  return seen
}

/** Who is inside beside the job of the second, with the cure: the first holds the lock, and has put a job in. */
const besideSecond = async (library, name) => {
  const [lock, inside, beside] = [locks.getLock(name), new Set(), []]
  const enter = async (who, ms) => {
    if (who === 'second') beside.push(...inside)
    inside.add(who)
    await sleep(ms)
    inside.delete(who)
  }
  const push = await library((who) => detached(() => lock.withLock(() => enter(who, 20))))
  const jobs = []
  await Promise.all([
    locks.run(() =>
      lock.withLock(async () => {
        jobs.push(push('first'))
        await enter('holder', 100)
      }),
    ),
    locks.run(() => sleep(20).then(() => push('second'))),
  ])
  await Promise.all(jobs)
  return beside
}

for (const [name, library] of Object.entries(LIBRARIES)) {
  const [own, foreign] = [0, 1].map((column) => page.rows.some((row) => row[column]?.includes(name)))
  const context = await contextOfSecond(library)
  const beside = await besideSecond(library, `street-${process.pid}-${name}`)
  const isRight = own !== foreign && context === (own ? 'second' : 'first') && beside.length === 0
  console.log(`${isRight ? 'ok' : 'WRONG'}: ${name}: in the context of the ${context}; beside it ${beside}`)
  if (!isRight) process.exitCode = 1
}
process.exit() // pools and servers are open
