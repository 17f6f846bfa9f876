/* eslint-disable @typescript-eslint/no-extraneous-class, @typescript-eslint/no-unsafe-class-instance-assignment --
   modules of Nest are empty classes, and its options are classes by name alone */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  Body,
  Controller,
  Inject,
  Injectable,
  Module,
  Param,
  Post,
  Res,
  Scope,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { ClientClosedError, LockClient, type Hold } from '@holdfast/core'
import { RequestAbortedError } from '@holdfast/core/http'
import { Redis } from 'ioredis'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { IncomingMessage, ServerResponse, request as openRequest } from 'node:http'
import { Socket } from 'node:net'
import { Writable } from 'node:stream'
import 'reflect-metadata'
import { Locked, LocksModule, currentHold } from '../../src/index.js'
import { eventually, signalled } from '../../../core/test/redis/support/rig.js'

const redisUrl = process.env.HOLDFAST_TEST_REDIS_URL ?? 'redis://127.0.0.1:6379'
const REQUESTS = 80

let prefix = ''
const ends: unknown[] = []
let guarded: (number | undefined)[] = []

@Injectable()
class Account {
  private static inside = 0
  static most = 0

  @Locked({ name: () => `${prefix}:account`, onBusy: 'wait' })
  async charge(amount: number): Promise<number> {
    Account.most = Math.max(Account.most, (Account.inside += 1))
    await this.audit()
    Account.inside -= 1
    return amount
  }

  @Locked({ name: () => `${prefix}:account` })
  private async audit(): Promise<void> {
    expect(currentHold()!.count).toBe(2)
    return Promise.resolve()
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest {
  @Locked({ name: () => `${prefix}:per-request`, onBusy: 'wait' })
  async who(): Promise<string> {
    return Promise.resolve(currentHold()!.owner.split(':')[0]!)
  }
}

@Injectable()
class Guard implements CanActivate {
  constructor(@Inject(LockClient) private readonly locks: LockClient) {}
  canActivate(execution: ExecutionContext): boolean {
    guarded.push(this.locks.currentThreadId)
    execution.switchToHttp().getRequest<{ guardedBy?: number }>().guardedBy = this.locks.currentThreadId!
    return true
  }
}

@Controller()
@UseGuards(Guard)
class Api {
  constructor(
    @Inject(LockClient) private readonly locks: LockClient,
    @Inject(Account) private readonly account: Account,
    @Inject(PerRequest) private readonly perRequest: PerRequest,
  ) {}

  @Post('work/:i')
  async work(@Param('i') i: string, @Body() body: { i: number }): Promise<unknown> {
    const lock = this.locks.getLock(`${prefix}:${Number(i) % 10}`)
    const ids = [this.locks.currentThreadId]
    await lock.lock()
    await lock.lock()
    const count = await lock.getHoldCount()
    ids.push(await new Promise((resolve) => setImmediate(() => resolve(this.locks.currentThreadId))))
    await lock.unlock()
    await lock.unlock()
    return { ids, count, i: body.i, charged: await this.account.charge(Number(i)) }
  }

  @Post('who')
  who(): Promise<string> {
    return this.perRequest.who()
  }

  @Locked({ name: () => `${prefix}:route` })
  @Post('route/:id')
  async route(@Param('id') id: string): Promise<unknown> {
    return Promise.resolve({ id, owner: currentHold()!.owner })
  }

  @Post('wait')
  async wait(): Promise<void> {
    await this.locks
      .getLock(`${prefix}:busy`)
      .lock()
      .catch((error: unknown) => {
        ends.push(error)
        throw error
      })
  }

  @Post('patient')
  async patient(): Promise<string> {
    return this.locks.getLock(`${prefix}:busy`).withLock(() => 'done')
  }

  @Post('partial')
  async partial(@Res() response: { raw?: Writable } & Writable): Promise<void> {
    const raw = response.raw ?? response
    raw.write('begun')
    await this.locks.getLock(`${prefix}:busy`).withLock(() => undefined, { waitMs: 0 })
  }

  @Post('attempt')
  async attempt(): Promise<void> {
    await this.locks.getLock(`${prefix}:busy`).withLock(() => undefined, { waitMs: 0 })
  }
}

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
])('LocksModule in Nest on %s', (_name, makeAdapter) => {
  const admin = new Redis(redisUrl, { lazyConnect: true })
  let app: INestApplication
  let url: string
  let locks: LockClient
  let holder: LockClient | undefined

  const start = async (
    errors?: { busyStatus?: 423 },
    drainMs?: number,
    middleware?: (request: unknown, response: Writable, next: () => void) => void,
  ): Promise<INestApplication> => {
    const options = { redis: redisUrl, graceMs: 2_000, drainMs, ...(errors && { errors }) }
    @Module({
      imports: [LocksModule.forRoot(options)],
      controllers: [Api],
      providers: [Account, PerRequest, Guard],
    })
    class AppModule {}
    const quiet = { logger: false as const, abortOnError: false }
    const made = await NestFactory.create(AppModule, makeAdapter() as ExpressAdapter, quiet)
    if (middleware) {
      made.use(middleware)
    }
    await made.listen(0, '127.0.0.1')
    return made
  }

  beforeEach(async () => {
    prefix = `t${randomUUID().slice(0, 8)}`
    ends.length = 0
    guarded = []
    Account.most = 0
    app = await start({ busyStatus: 423 })
    url = await app.getUrl()
    locks = app.get(LockClient)
  })

  afterEach(async () => {
    await holder?.close({ graceMs: 0 })
    holder = undefined
    await app.close()
    // The queue of a lock that was granted ends a moment later.
    await eventually(async () => (await admin.keys(`*${prefix}*`)).length === 0)
    // A connection that the module has closed is gone for Redis a moment later.
    await eventually(async () => (await admin.pubsub('CHANNELS', `*${prefix}*`)).length === 0)
  })

  beforeAll(() => admin.connect())
  afterAll(() => admin.disconnect())

  /** Another process has the lock that the routes want. */
  const holdBusy = async (): Promise<Hold> => {
    holder = await LockClient.connect(redisUrl)
    return holder.getLock(`${prefix}:busy`).acquire()
  }

  const waitingIn = (client: LockClient): Promise<void> =>
    new Promise((resolve) => void client.on('waiting', () => resolve()))

  const post = (path: string, body: unknown = {}): Promise<Response> =>
    fetch(`${url}/${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })

  it(`${REQUESTS} parallel requests: one context each, from the guard to the answer`, async () => {
    const answers = await Promise.all(
      Array.from({ length: REQUESTS }, async (_, i) => {
        const response = await post(`work/${i}`, { i, padding: 'x'.repeat(20_000) })
        return (await response.json()) as { ids: number[]; count: number; i: number; charged: number }
      }),
    )
    expect(answers.map(({ i }) => i)).toEqual(answers.map((_, i) => i))
    expect(answers.filter(({ ids, count }) => new Set(ids).size !== 1 || count !== 2)).toEqual([])
    const ids = answers.map((answer) => answer.ids[0])
    expect(new Set(ids).size).toBe(REQUESTS)
    expect(new Set(guarded)).toEqual(new Set(ids))
    expect(Account.most).toBe(1)
  })

  it('decorated methods take the locks of the application they are part of', async () => {
    const other = await start()
    try {
      const mine = (await (await post('route/7')).json()) as { id: string; owner: string }
      expect(mine.id).toBe('7')
      expect(mine.owner.startsWith(locks.clientId)).toBe(true)
      expect(await (await post('who')).text()).toBe(locks.clientId)
      expect(await (await fetch(`${await other.getUrl()}/route/8`, { method: 'POST' })).json()).toMatchObject(
        {
          id: '8',
          owner: expect.stringContaining(other.get(LockClient).clientId),
        },
      )
    } finally {
      await other.close()
    }
  })

  it('a client that goes away ends the waits of its request', async () => {
    await holdBusy()
    const waiting = waitingIn(locks)
    const request = openRequest(`${url}/wait`, { method: 'POST' })
    request.on('error', () => undefined)
    request.end()
    await waiting
    request.destroy()
    await eventually(() => ends.length === 1)
    expect(ends[0]).toBeInstanceOf(RequestAbortedError)
  })

  it('a busy lock in a handler that has begun its answer ends that answer, and not the process', async () => {
    await holdBusy()
    const body = await post('partial').then(
      async (response) => response.text().catch(() => 'begun'),
      () => 'begun',
    )
    expect(body).toMatch(/^begun/)
    expect((await post('attempt')).status).toBe(423)
  })

  it('drains: requests that run when it closes get their locks and answers first', async () => {
    const draining = await start({ busyStatus: 423 }, 20_000)
    const hold = await holdBusy()
    const client = draining.get(LockClient)
    const waiting = waitingIn(client)
    const answer = fetch(`${await draining.getUrl()}/patient`, { method: 'POST' }).then(
      ({ status }) => status,
    )
    await waiting
    const closing = draining.close()
    await hold.release()
    expect(await answer).toBe(201)
    await closing
    expect(() => client.getLock(`${prefix}:busy`)).toThrow(ClientClosedError)
  })

  it('drains: a request whose client had gone when its turn came is not waited for', async () => {
    const DRAIN_MS = 5_000
    const [entered, gone] = [signalled(), signalled()]
    // Such as one that asks a store of sessions.
    const draining = await start({ busyStatus: 423 }, DRAIN_MS, (_request, response, next) => {
      response.once('close', () => {
        next()
        gone.resolve()
      })
      entered.resolve()
    })
    const request = openRequest(`${await draining.getUrl()}/attempt`, { method: 'POST' })
    request.on('error', () => undefined)
    request.end()
    await entered.promise
    request.destroy()
    await gone.promise
    const startedAt = performance.now()
    await draining.close()
    expect(performance.now() - startedAt).toBeLessThan(DRAIN_MS * 0.9)
  })

  it('drains for its time at most, and not beyond an hour', async () => {
    const draining = await start({ busyStatus: 423 }, 50)
    await holdBusy()
    const waiting = waitingIn(draining.get(LockClient))
    const answer = fetch(`${await draining.getUrl()}/patient`, { method: 'POST' }).then(
      ({ status }) => status,
      () => 'no answer',
    )
    await waiting
    await draining.close()
    expect([503, 'no answer']).toContain(await answer)
    for (const wrong of [-1, Number.NaN, 4_000_000]) {
      await expect(start({ busyStatus: 423 }, wrong)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    }
  })

  it('a busy lock is answered with the status that was asked for, and Retry-After', async () => {
    await holdBusy()
    const response = await post('attempt')
    expect([response.status, response.headers.get('Retry-After')]).toEqual([423, '1'])
    expect(await response.json()).toMatchObject({ statusCode: 423, code: 'LOCK_TIMEOUT' })
    const silent = await start()
    const plain = await fetch(`${await silent.getUrl()}/attempt`, { method: 'POST' })
    expect([plain.status, plain.headers.get('Retry-After')]).toEqual([500, null])
    await silent.close()
  })

  it('closes: a waiting request ends, and does not keep the server from closing', async () => {
    await holdBusy()
    const waiting = waitingIn(locks)
    const answer = post('wait').then(
      ({ status }) => status,
      () => 'no answer',
    )
    await waiting
    await app.close()
    expect(ends).toMatchObject([{ code: 'CLIENT_CLOSED' }])
    expect([503, 'no answer']).toContain(await answer)
  })
})

describe('requests that are handed in without a connection, as in a function in the cloud', () => {
  it('are over when they are answered: nothing waits for them', async () => {
    const DRAIN_MS = 5_000
    @Module({ imports: [LocksModule.forRoot({ redis: redisUrl, drainMs: DRAIN_MS })] })
    class AppModule {}
    const app = await NestFactory.create(AppModule, new ExpressAdapter(), { logger: false })
    await app.init()
    const request = Object.assign(new IncomingMessage(new Socket()), { method: 'GET', url: '/nothing' })
    const response = new ServerResponse(request)
    response.assignSocket(new Writable({ write: (_chunk, _encoding, done) => done() }) as Socket)
    const answered = once(response, 'finish')
    const handle = app.getHttpAdapter().getInstance() as (...args: unknown[]) => void
    handle(request, response)
    await answered
    expect(response.statusCode).toBe(404)
    const startedAt = performance.now()
    await app.close()
    expect(performance.now() - startedAt).toBeLessThan(DRAIN_MS * 0.9)
  })
})
