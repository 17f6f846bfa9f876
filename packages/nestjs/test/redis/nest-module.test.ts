/* eslint-disable @typescript-eslint/no-extraneous-class, @typescript-eslint/no-unsafe-class-instance-assignment --
   modules of Nest are empty classes, and its options are classes by name alone */
import { describe, expect, it } from '@jest/globals'
import {
  Controller,
  Global,
  Inject,
  Injectable,
  Module,
  type DynamicModule,
  type INestApplicationContext,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ClientProxyFactory, EventPattern, MessagePattern, Transport } from '@nestjs/microservices'
import { HealthCheckService, TerminusModule } from '@nestjs/terminus'
import { Test } from '@nestjs/testing'
import { ClientClosedError, ContextRequiredError, LockClient, RedisUnavailableError } from '@holdfast/core'
import { Queue, Worker, type Job } from 'bullmq'
import { Redis } from 'ioredis'
import { lastValueFrom } from 'rxjs'
import 'reflect-metadata'
import { freePort } from '@holdfast/faults/harness'
import { eventually, signalled, useRig } from '../../../core/test/redis/support/rig.js'
import {
  InjectLocks,
  Locked,
  LocksHealthIndicator,
  LocksModule,
  currentHold,
  getLocksToken,
} from '../../src/index.js'

@Injectable()
class Orders {
  constructor(@Inject(LockClient) readonly locks: LockClient) {}

  @Locked({ name: 'order:{0}' })
  async pay(id: string): Promise<string> {
    return Promise.resolve(`${currentHold()!.owner} paid ${id}`)
  }
}

@Injectable()
class TwoClients {
  constructor(
    @InjectLocks() readonly main: LockClient,
    @InjectLocks('billing') readonly billing: LockClient,
  ) {}

  @Locked({ name: 'bill', client: (self: TwoClients) => self.billing })
  async bill(): Promise<string> {
    return Promise.resolve(currentHold()!.owner)
  }
}

@Injectable()
class Settings {
  readonly clientName = 'from-settings'
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

@Controller()
class Messages {
  static readonly events: (number | undefined)[] = []
  constructor(@Inject(LockClient) private readonly locks: LockClient) {}

  @MessagePattern('id')
  async id(): Promise<(number | undefined)[]> {
    const lock = this.locks.getLock('message')
    await lock.lock()
    await lock.lock()
    const count = await lock.getHoldCount()
    await lock.unlock()
    await lock.unlock()
    return [this.locks.currentThreadId, count]
  }

  @EventPattern('told')
  told(...data: unknown[]): void {
    Messages.events.push(data.length && this.locks.currentThreadId)
  }
}

function isClosed(locks: LockClient): boolean {
  try {
    locks.getLock('x')
    return false
  } catch (error) {
    return error instanceof ClientClosedError
  }
}

describe('LocksModule', () => {
  const redis = useRig({ redis: 'test' })

  const open = async (
    modules: DynamicModule[],
    use: (app: INestApplicationContext) => Promise<void>,
    providers = [Orders] as never[],
  ): Promise<void> => {
    @Module({ imports: modules, providers })
    class AppModule {}
    const app = await NestFactory.createApplicationContext(AppModule, { logger: false })
    try {
      await use(app)
    } finally {
      await app.close()
      await eventually(nobodyListens)
    }
  }

  // A connection that the module has closed is gone for Redis a moment later.
  const nobodyListens = (): Promise<boolean> =>
    redis.server.command('PUBSUB', 'CHANNELS').then(
      (channels) => (channels as string[]).length === 0,
      () => true,
    )

  it('forRoot provides the client, refuses bare calls, and closes what it has opened', async () => {
    const options = { bareCalls: undefined }
    await open(
      [LocksModule.forRoot({ redis: redis.server.url, options, graceMs: undefined })],
      async (app) => {
        const { locks } = app.get(Orders)
        expect(locks).toBe(app.get(LockClient))
        await expect(locks.getLock('a').lock()).rejects.toBeInstanceOf(ContextRequiredError)
        expect(await locks.getLock('a').withLock(() => 'in')).toBe('in')
        expect((await app.get(Orders).pay('1')).startsWith(locks.clientId)).toBe(true)
      },
    )
    await eventually(
      async () =>
        String(await redis.admin.client('LIST'))
          .trim()
          .split('\n').length === 1,
    )
  })

  it('takes options of the client, and leaves a connection open that it was given', async () => {
    const connection = redis.connection()
    const options = { clientName: 'orders', bareCalls: 'allow' } as const
    await open([LocksModule.forRoot({ redis: connection, options })], async (app) => {
      const { locks } = app.get(Orders)
      expect(locks.clientId).toMatch(/^orders~/)
      const lock = locks.getLock('a')
      await lock.lock()
      await lock.unlock()
    })
    expect(await connection.ping()).toBe('PONG')
  })

  it('forRootAsync has its options from elsewhere', async () => {
    const module = LocksModule.forRootAsync({
      imports: [SettingsModule],
      inject: [Settings],
      useFactory: ({ clientName }: Settings) =>
        Promise.resolve({ redis: redis.server.url, options: { clientName } }),
    })
    await open([module], async (app) => {
      expect(app.get(Orders).locks.clientId).toMatch(/^from-settings~/)
      expect(await app.get(Orders).pay('1')).toContain('from-settings~')
    })
  })

  it('several clients: one by its class, the others by their names', async () => {
    const modules = [
      LocksModule.forRoot({ redis: redis.server.url }),
      LocksModule.forRoot({ name: 'billing', redis: redis.server.url, options: { clientName: 'billing' } }),
    ]
    await open(
      modules,
      async (app) => {
        const { main, billing } = app.get(TwoClients)
        expect(billing).toBe(app.get(getLocksToken('billing')))
        expect(main).not.toBe(billing)
        expect(await app.get(TwoClients).bill()).toContain(billing.clientId)
      },
      [TwoClients] as never[],
    )
  })

  it('waits for holders when it closes, so long, and refuses new calls', async () => {
    const closed = signalled()
    let outcome: unknown
    await open([LocksModule.forRoot({ redis: redis.server.url, graceMs: 10_000 })], async (app) => {
      const { locks } = app.get(Orders)
      const inside = signalled()
      void locks.getLock('a').withLock(async (hold) => {
        inside.resolve()
        await closed.promise
        expect(() => locks.getLock('b')).toThrow(ClientClosedError)
        await hold.verify()
        outcome = hold.signal.aborted
      })
      await inside.promise
      const closing = app.close()
      await eventually(() => isClosed(locks))
      closed.resolve()
      await closing
      expect(outcome).toBe(false)
    })
  })

  it('closes its client after the workers that providers keep, also of a module that ends later', async () => {
    const connection = { host: '127.0.0.1', port: redis.server.port, maxRetriesPerRequest: null }
    const [began, closing] = [signalled(), signalled()]
    const outcomes: unknown[] = []

    @Injectable()
    class Jobs {
      readonly workers = [new Worker('jobs', (job: Job) => this.work(job), { connection })]
      constructor(@Inject(LockClient) private readonly locks: LockClient) {
        this.workers[0]!.on('completed', (_job, value) => outcomes.push(value))
        this.workers[0]!.on('failed', (_job, error) => outcomes.push(error))
        this.workers[0]!.on('closing', () => closing.resolve())
      }

      onApplicationShutdown(): Promise<void> {
        return this.workers[0]!.close()
      }

      private work({ data }: Job): Promise<string> {
        return this.locks.getLock('outer').withLock(async (hold) => {
          began.resolve()
          await closing.promise
          return this.locks.getLock('inner').withLock(() => `${data} ${hold.isLost}`)
        })
      }
    }
    // Ends after ours: the later a global module is registered, the earlier it ends.
    @Global()
    @Module({ providers: [Jobs] })
    class QueueModule {}
    const locksModule = LocksModule.forRoot({ redis: redis.server.url, graceMs: 0 })
    const queue = new Queue('jobs', { connection })
    await open([{ module: QueueModule }, locksModule], async (app) => {
      await queue.add('job', 'done')
      await began.promise
      await app.close()
      expect(outcomes).toEqual(['done false'])
    })
    await queue.obliterate({ force: true })
    await queue.close()
  })

  it.each([
    ['options', { drainms: 5 }, /Unknown option "drainms" in \w+ \(did you mean drainMs\?\)/],
    [
      'errors',
      { errors: { busystatus: 423 } },
      /Unknown option "busystatus" in \w+ \(did you mean busyStatus\?\)/,
    ],
    ['busyStatus', { errors: { busyStatus: 404 } }, /one of/],
    ['drainMs', { drainMs: -1 }, /not negative/],
    ['redis', { redis: undefined }, /^redis must be a URL/],
  ])('refuses options when it starts: %s', async (argument, options, text) => {
    const connection = redis.connection()
    const module = Test.createTestingModule({
      imports: [LocksModule.forRoot({ redis: connection, ...options } as never)],
    })
    const refused: unknown = await module.compile().then(
      (compiled) => compiled.close(),
      (error: unknown) => error,
    )
    expect(refused).toMatchObject({
      code: 'INVALID_ARGUMENT',
      argument,
      message: expect.stringMatching(text),
    })
  })

  it('refuses options of forRootAsync at once', () => {
    const options = { useFactory: () => ({ redis: 'redis://localhost' }), isGlobal: true }
    expect(() => LocksModule.forRootAsync(options)).toThrow(
      /Unknown option "isGlobal" in \w+ \(known: name, imports/,
    )
  })

  it('fails to start where there is no Redis', async () => {
    const options = { unavailableTimeoutMs: 100 }
    const nowhere = { host: '127.0.0.1', port: 1, retryStrategy: () => 20 }
    await expect(
      Test.createTestingModule({ imports: [LocksModule.forRoot({ redis: nowhere, options })] }).compile(),
    ).rejects.toBeInstanceOf(RedisUnavailableError)
  })

  it('a microservice has a context for each message and each event', async () => {
    @Module({ imports: [LocksModule.forRoot({ redis: redis.server.url })], controllers: [Messages] })
    class AppModule {}
    const at = { host: '127.0.0.1', port: await freePort() }
    const app = await NestFactory.createMicroservice(AppModule, {
      transport: Transport.TCP,
      options: at,
      logger: false,
    })
    await app.listen()
    const client = ClientProxyFactory.create({ transport: Transport.TCP, options: at })
    try {
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => lastValueFrom(client.send<number[]>('id', {}))),
      )
      expect(new Set(answers.map(([id]) => id)).size).toBe(50)
      expect(answers.filter(([id, count]) => typeof id !== 'number' || count !== 2)).toEqual([])
      client.emit('told', {})
      await eventually(() => Messages.events.length === 1)
      expect(Messages.events).toEqual([expect.any(Number)])
    } finally {
      await client.close()
      await app.close()
      await eventually(nobodyListens)
    }
  })

  it.each([true, false])(
    'a hybrid application that inherits (%p) has a context for messages only then',
    async (inherit) => {
      @Module({ imports: [LocksModule.forRoot({ redis: redis.server.url })], controllers: [Messages] })
      class AppModule {}
      const at = { host: '127.0.0.1', port: await freePort() }
      const app = await NestFactory.create(AppModule, { logger: false })
      app.connectMicroservice({ transport: Transport.TCP, options: at }, { inheritAppConfig: inherit })
      await app.startAllMicroservices()
      const client = ClientProxyFactory.create({ transport: Transport.TCP, options: at })
      try {
        const answer = lastValueFrom(client.send<number[]>('id', {}))
        if (inherit) {
          expect(await answer).toEqual([expect.any(Number), 2])
        } else {
          await expect(answer).rejects.toBeDefined()
        }
      } finally {
        await client.close()
        await app.close()
        await eventually(nobodyListens)
      }
    },
  )

  it('tells whether locks can be taken', async () => {
    const connection = new Redis(redis.server.url, { disconnectTimeout: 50 })
    connection.on('error', () => undefined)
    await open([LocksModule.forRoot({ redis: connection })], async (app) => {
      const health = app.get(LocksHealthIndicator)
      const checks = Array.from({ length: 5 }, () => health.check('locks', { timeoutMs: 20_000 }))
      expect(await Promise.all(checks)).toEqual(Array(5).fill({ locks: { status: 'up' } }))
      expect(await redis.server.command('KEYS', 'health:*')).toEqual([])
      await redis.server.pause()
      const message = expect.stringContaining('Redis')
      expect(await health.check('locks', { timeoutMs: 300 })).toEqual({ locks: { status: 'down', message } })
      redis.server.resume()
      await eventually(async () => (await health.check('locks')).locks.status === 'up')
      await redis.server.kill()
      expect(await health.check('locks', { timeoutMs: 300 })).toEqual({ locks: { status: 'down', message } })
    })
    connection.disconnect()
  })

  it('tells that they cannot, while the application ends', async () => {
    await open([LocksModule.forRoot({ redis: redis.server.url })], async (app) => {
      await app.get(LockClient).close()
      const down = { status: 'down', message: expect.stringContaining('closed') }
      expect(await app.get(LocksHealthIndicator).check('locks')).toEqual({ locks: down })
    })
  })

  it('tells Terminus', async () => {
    const connection = new Redis(redis.server.url, { disconnectTimeout: 50 })
    connection.on('error', () => undefined)
    @Module({
      imports: [LocksModule.forRoot({ redis: connection }), TerminusModule.forRoot({ logger: false })],
    })
    class AppModule {}
    const app = await NestFactory.createApplicationContext(AppModule, { logger: false })
    const check = async (timeoutMs: number): Promise<unknown> => {
      const health = await app.resolve(HealthCheckService)
      return health.check([() => app.get(LocksHealthIndicator).check('locks', { timeoutMs })])
    }
    expect(await check(20_000)).toMatchObject({ status: 'ok', info: { locks: { status: 'up' } } })
    await redis.server.kill()
    await expect(check(300)).rejects.toMatchObject({ status: 503 })
    await app.close()
    connection.disconnect()
  })
})
