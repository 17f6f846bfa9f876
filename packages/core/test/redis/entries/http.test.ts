import { afterEach, describe, expect, it } from '@jest/globals'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { once } from 'node:events'
import { createServer, request as openRequest } from 'node:http'
import { connect, constants, createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Readable, type Writable } from 'node:stream'
import {
  expressLocks,
  honoLocks,
  RequestAbortedError,
  type HttpLocksOptions,
} from '../../../src/entries/http/index.js'
import type { NodeResponse } from '../../../src/entries/http/request-context.js'
import {
  ClientClosedError,
  ContextRequiredError,
  LockTimeoutError,
  type Hold,
  type LockClient,
  type LockClientOptions,
} from '../../../src/index.js'
import { eventually, own, signalled, useRig } from '../support/rig.js'
import { useWarnings } from '../support/warnings.js'
import { frameworks, type Handlers, type WebServer } from '../support/web-frameworks.js'
import { aborted } from '../support/outcomes.js'

const REQUESTS = 80
const NAMES = 10

const harness = useRig({ redis: 'all' })

const post = (url: string, body: unknown = {}): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })

describe.each(Object.entries(frameworks))('a context per request in %s', (_name, framework) => {
  const locks = own(() => harness.client({ bareCalls: 'throw' }))
  let server: WebServer | undefined

  afterEach(async () => {
    await server?.close()
    server = undefined
  })

  const serve = async (
    locks: LockClient,
    handlers: Handlers,
    options?: HttpLocksOptions,
  ): Promise<string> => {
    server = await framework(locks, handlers, options)
    return server.url
  }

  /** A request whose client may go away. */
  const begin = (url: string): { answered: Promise<number | Error>; leave: () => void } => {
    const answered = signalled<number | Error>()
    const request = openRequest(url, { method: 'POST', headers: { 'Content-Type': 'application/json' } })
    request.on('response', (response) => {
      response.resume()
      response.on('end', () => answered.resolve(response.statusCode ?? 0))
    })
    request.on('error', (error) => answered.resolve(error))
    request.end('{}')
    return { answered: answered.promise, leave: () => request.destroy(new Error('left')) }
  }

  it('a server that was started inside a context: each request has one of its own all the same (I1)', async () => {
    const over = signalled()
    const [inside, leave] = [signalled(), signalled()]
    const ids = new Set<number | undefined>()
    const started = signalled<string>()
    const main = locks.run(async () => {
      ids.add(locks.currentThreadId)
      const handlers: Handlers = {
        hold: async () => {
          ids.add(locks.currentThreadId)
          const lock = locks.getLock(harness.name())
          await lock.lock()
          inside.resolve()
          await leave.promise
          await lock.unlock()
          return {}
        },
        try: async () => {
          ids.add(locks.currentThreadId)
          return { taken: await locks.getLock(harness.name()).tryLock() }
        },
      }
      started.resolve(await serve(locks, handlers))
      await over.promise
    })
    const url = await started.promise
    const holding = post(`${url}/hold/1`)
    await inside.promise
    expect(await (await post(`${url}/try/1`)).json()).toEqual({ taken: false })
    leave.resolve()
    await holding
    over.resolve()
    await main
    expect(ids.size).toBe(3)
  })

  describe('a handler that leaves its lock held', () => {
    const CODE = 'HOLDFAST_HOLD_OUTLIVES_CONTEXT'
    const warnings = useWarnings()
    const forget = async (onContextEnd: LockClientOptions['onContextEnd']): Promise<[LockClient, Hold]> => {
      const locks = await harness.client({ onContextEnd, graceMs: 50 })
      const forgotten = signalled<Hold>()
      const url = await serve(locks, {
        forget: async () => {
          forgotten.resolve(await locks.getLock(harness.name()).lock())
          return {}
        },
      })
      expect((await post(`${url}/forget/1`)).status).toBe(200)
      return [locks, await forgotten.promise]
    }

    it('is told of by default, and the lock stays', async () => {
      const [, hold] = await forget(undefined)
      await eventually(() => warnings.of(CODE, harness.name()).length === 1)
      expect(warnings.of(CODE, harness.name())[0]!.message).toMatch(/a request[^]*Taken: lock\(\)[^]*forget/)
      expect(await hold.release()).toBe('released')
    })

    it("is not told of with 'keep', and the lock stays", async () => {
      const [, hold] = await forget('keep')
      // Each request has ended then, and its context.
      await server?.close()
      server = undefined
      expect([await hold.release(), await warnings.delivered(CODE, harness.name())]).toEqual(['released', []])
    })

    it("loses it with 'release': its signal aborts, and the lock is free after graceMs", async () => {
      const [locks, hold] = await forget('release')
      await eventually(() => hold.signal.aborted)
      expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'context-ended' })
      await eventually(async () => !(await locks.getLock(harness.name()).isLocked()))
      expect(await warnings.delivered(CODE, harness.name())).toEqual([])
    })

    it("loses it with 'release' when it ends, though its client has gone and nobody reads its answer", async () => {
      const locks = await harness.client({ onContextEnd: 'release', graceMs: 50 })
      const other = await (await harness.client()).getLock(harness.name('busy')).acquire()
      const [forgotten, gone, go] = [signalled<Hold>(), signalled(), signalled()]
      const url = await serve(locks, {
        forget: async () => {
          forgotten.resolve(await locks.getLock(harness.name()).lock())
          await locks
            .getLock(harness.name('busy'))
            .lock()
            .catch(() => gone.resolve())
          await go.promise
          return {}
        },
      })
      const { leave } = begin(`${url}/forget/1`)
      const hold = await forgotten.promise
      leave()
      await gone.promise
      // Until then it works under its lock.
      await hold.verify()
      expect(hold.signal.aborted).toBe(false)
      go.resolve()
      await eventually(() => hold.signal.aborted)
      expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'context-ended' })
      await eventually(async () => !(await locks.getLock(harness.name()).isLocked()))
      await other.release()
    })
  })

  it('the signal of the middleware ends the waits of its requests, and of no other work', async () => {
    const [locks, ending] = [await harness.client(), new AbortController()]
    const other = await (await harness.client()).getLock(harness.name()).acquire()
    let waiting = 0
    const wait = (): Promise<unknown> => {
      waiting += 1
      return locks.getLock(harness.name()).withLock(() => ({}))
    }
    const handlers = { wait, free: () => locks.getLock(harness.name('free')).withLock(() => ({})) }
    const url = await serve(locks, handlers, { errors: {}, signal: ending.signal })
    const job = wait()
    const waits = [post(`${url}/wait/1`), post(`${url}/wait/2`)]
    await eventually(() => waiting === 3)
    ending.abort(new ClientClosedError())
    const ends = [...waits, post(`${url}/wait/3`), post(`${url}/free/1`)]
    expect((await Promise.all(ends)).map(({ status }) => status)).toEqual([503, 503, 503, 503])
    await other.release()
    expect(await job).toEqual({})
  })

  it(`${REQUESTS} parallel requests: each is an owner of its own, from its beginning to its end`, async () => {
    const inside = new Map<string, number>()
    const url = await serve(locks, {
      work: async (name, body) => {
        const lock = locks.getLock(harness.name(name))
        const id = locks.currentThreadId
        await lock.lock()
        const others = inside.get(name) ?? 0
        inside.set(name, others + 1)
        const ids = [id, locks.currentThreadId]
        // Re-entered by hand: only the same context does, all others wait.
        await lock.lock()
        ids.push(
          await new Promise<number | undefined>((resolve) =>
            setImmediate(() => resolve(locks.currentThreadId)),
          ),
        )
        const count = await lock.getHoldCount()
        inside.set(name, others)
        await lock.unlock()
        await lock.unlock()
        return { others, count, ids: [...ids, locks.currentThreadId], body }
      },
    })
    const answers = await Promise.all(
      Array.from({ length: REQUESTS }, async (_, i) => {
        const response = await post(`${url}/work/${i % NAMES}`, { i, padding: 'x'.repeat(20_000) })
        return (await response.json()) as {
          others: number
          count: number
          ids: number[]
          body: { i: number }
        }
      }),
    )
    expect(answers.map(({ body }) => body.i)).toEqual(answers.map((_, i) => i))
    expect(answers.filter(({ others, count }) => others !== 0 || count !== 2)).toEqual([])
    expect(answers.filter(({ ids }) => ids.length !== 4 || new Set(ids).size !== 1)).toEqual([])
    expect(new Set(answers.map(({ ids }) => ids[0])).size).toBe(REQUESTS)
    expect(locks.currentThreadId).toBeUndefined()
  })

  it('is around the handler also where the body arrives later than the head', async () => {
    const url = await serve(locks, {
      count: async (_argument, body) => {
        await locks.getLock(harness.name()).lock()
        await locks.getLock(harness.name()).unlock()
        return { length: (body as string[]).length }
      },
    })
    const headers = { 'Content-Type': 'application/json', Expect: '100-continue' }
    const request = openRequest(`${url}/count/x`, { method: 'POST', headers })
    const [head, status] = [signalled(), signalled<number | undefined>()]
    request.on('continue', () => head.resolve())
    request.on('response', (response) => status.resolve(response.resume().statusCode))
    request.flushHeaders()
    await head.promise
    request.write('["')
    request.end(`${'x'.repeat(100_000)}"]`)
    expect(await status.promise).toBe(200)
  })

  it('ends with the answer: a task that goes on after it acquires nothing in its name', async () => {
    const answered = signalled()
    let late: Promise<unknown> = Promise.resolve()
    const url = await serve(locks, {
      detach: () => {
        late = answered.promise.then(() => locks.getLock(harness.name()).lock())
        late.catch(() => undefined)
        return Promise.resolve({ id: locks.currentThreadId })
      },
      idle: () => Promise.resolve({ id: locks.currentThreadId }),
    })
    const [first, second] = [await post(`${url}/detach/x`), await post(`${url}/idle/x`)]
    expect([typeof ((await first.json()) as { id: unknown }).id, second.status]).toEqual(['number', 200])
    answered.resolve()
    await expect(late).rejects.toBeInstanceOf(ContextRequiredError)
  })

  it('a client that goes away ends the waits of its request, and nothing of them stays', async () => {
    const name = harness.name()
    const other = await (await harness.client()).getLock(name).acquire()
    const ends: unknown[] = []
    let waiting = 0
    const url = await serve(locks, {
      wait: async () => {
        waiting += 1
        try {
          await locks.getLock(name).lock()
        } catch (error) {
          ends.push(error)
          // Nobody needs what comes next either.
          await locks
            .getLock(harness.name('next'))
            .lock()
            .catch((again: unknown) => ends.push(again))
          throw error
        }
        return {}
      },
      hello: () => Promise.resolve({ hello: 'world' }),
    })
    const requests = Array.from({ length: 20 }, () => begin(`${url}/wait/x`))
    await eventually(() => waiting === 20)
    await eventually(async () => (await harness.admin.pubsub('CHANNELS', `*${name}*`)).length === 1)
    requests.forEach(({ leave }) => leave())
    await eventually(() => ends.length === 40)
    expect(ends.filter((error) => !(error instanceof RequestAbortedError))).toEqual([])
    // Their subscription is gone, and the lock is where it was.
    await eventually(async () => (await harness.admin.pubsub('CHANNELS', `*${name}*`)).length === 0)
    expect(await other.release()).toBe('released')
    expect(await locks.getLock(name).isLocked()).toBe(false)
    expect((await post(`${url}/hello/x`)).status).toBe(200)
  })

  it('leaves the lock of a request whose client has gone to the handler that holds it', async () => {
    const lock = locks.getLock(harness.name())
    const [inside, gone] = [signalled(), signalled()]
    let outcome: unknown
    const url = await serve(locks, {
      hold: async () => {
        const hold = await lock.acquire()
        inside.resolve()
        await gone.promise
        await hold.verify()
        outcome = await hold.release()
        return {}
      },
    })
    const { leave, answered } = begin(`${url}/hold/x`)
    await inside.promise
    leave()
    expect(await answered).toBeInstanceOf(Error)
    expect(await lock.isLocked()).toBe(true)
    gone.resolve()
    await eventually(() => outcome !== undefined)
    expect(outcome).toBe('released')
  })

  describe('errors', () => {
    it.each<[string, HttpLocksOptions | undefined, number, string | null]>([
      ['409 with Retry-After', { errors: {} }, 409, '1'],
      ['423, as late as it is told', { errors: { busyStatus: 423, retryAfterMs: 2_500 } }, 423, '3'],
      ['an error of the server where nothing is said', undefined, 500, null],
    ])('a busy lock is %s', async (_what, options, status, retryAfter) => {
      const [locks, name] = [await harness.client(), harness.name()]
      const other = await (await harness.client()).getLock(name).acquire()
      const handlers = { try: () => locks.getLock(name).withLock(() => ({}), { waitMs: 0 }) }
      const response = await post(`${await serve(locks, handlers, options)}/try/x`)
      await other.release()
      expect([response.status, response.headers.get('Retry-After')]).toEqual([status, retryAfter])
      // It says nothing about who has it.
      const text = await response.text()
      if (options) expect([text.includes(name), text.includes(String(process.pid))]).toEqual([false, false])
    })

    it('errors of anything else stay as they are', async () => {
      const locks = await harness.client()
      const teapot = Object.assign(new Error('teapot'), {
        status: 418,
        getResponse: () => new Response('', { status: 418 }),
      })
      const url = await serve(
        locks,
        {
          teapot: () => Promise.reject(teapot),
          lost: () => Promise.reject(new TypeError('a bug')),
          caught: async () => {
            const refused: unknown = await locks
              .run(() =>
                Promise.reject(new LockTimeoutError({ lockName: 'x', waitedMs: 1, holder: undefined })),
              )
              .catch((error: unknown) => error)
            return { caught: (refused as Error).name }
          },
        },
        { errors: {} },
      )
      expect((await post(`${url}/teapot/x`)).status).toBe(418)
      expect((await post(`${url}/lost/x`)).status).toBe(500)
      expect(await (await post(`${url}/caught/x`)).json()).toEqual({ caught: 'LockTimeoutError' })
    })
  })
})

describe.each(['HTTP/1', 'HTTP/2'])('a request over %s whose client goes in the middle', (version) => {
  const ends: (() => unknown)[] = []
  afterEach(() => ends.splice(0).forEach((end) => end()))

  const serveRaw = (
    handler: (response: Writable & NodeResponse) => void,
    locks: LockClient,
  ): Promise<number> => {
    const middleware = expressLocks(locks)
    const listener = (_request: unknown, response: Writable & NodeResponse): void =>
      middleware(_request, response, () => handler(response))
    const server =
      version === 'HTTP/1'
        ? createServer(listener)
        : createHttp2Server((request, response) => listener(request, response as never))
    ends.push(() => server.close())
    return new Promise((resolve) =>
      server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
    )
  }

  const beginRaw = (port: number): (() => void) => {
    if (version === 'HTTP/1') {
      const request = openRequest({ port, host: '127.0.0.1', agent: false }).on('error', () => undefined)
      request.end()
      return () => request.destroy()
    }
    const session = connect(`http://127.0.0.1:${port}`)
    ends.push(() => session.destroy())
    const stream = session.request({ ':path': '/' }).on('error', () => undefined)
    return () => stream.close(constants.NGHTTP2_CANCEL)
  }

  it.each([
    ['ends', (response: Writable, gone: Promise<void>) => void gone.then(() => response.end('late'))],
    ['is a stream', (response: Writable) => void endless().pipe(response)],
  ])("its context ends when the handler's answer %s", async (_how, answer) => {
    const locks = await harness.client({ onContextEnd: 'release', graceMs: 0 })
    const [began, gone] = [signalled<Hold>(), signalled()]
    const port = await serveRaw((response) => {
      response.once('close', gone.resolve)
      void locks
        .getLock(harness.name())
        .lock()
        .then((hold) => began.resolve(hold))
        .then(() => answer(response, gone.promise))
    }, locks)
    const leave = beginRaw(port)
    const hold = await began.promise
    leave()
    await eventually(() => hold.signal.aborted)
    expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'context-ended' })
    await eventually(async () => !(await locks.getLock(harness.name()).isLocked()))
  })
})

describe('Hono, whose signal of a request has a text as its reason', () => {
  it('a wait that is given that signal ends with the error of every other wait of the request', async () => {
    const locks = await harness.client()
    const [began, ended] = [signalled(), signalled<unknown>()]
    const app = new Hono()
    app.use(honoLocks(locks))
    app.get('/', async (c) => {
      const { signal } = c.req.raw
      const gone = aborted(signal)
      began.resolve()
      await gone
      const wait = locks.getLock(harness.name()).acquire({ signal })
      ended.resolve([typeof signal.reason, await wait.catch((error: unknown) => error)])
      return c.text('nobody reads it')
    })
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const request = openRequest({ port, host: '127.0.0.1', agent: false }).on('error', () => undefined)
    request.end()
    await began.promise
    request.destroy()
    expect(await ended.promise).toEqual(['string', expect.any(RequestAbortedError)])
    server.close()
  })
})

const endless = (): Readable => new Readable({ read: () => undefined })
