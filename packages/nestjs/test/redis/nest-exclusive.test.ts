/* eslint-disable @typescript-eslint/unbound-method -- methods are called as a scheduler calls them, with an object */
/* eslint-disable @typescript-eslint/no-extraneous-class, @typescript-eslint/no-unsafe-class-instance-assignment --
   modules of Nest are empty classes, and its options are classes by name alone */
import { afterEach, describe, expect, it } from '@jest/globals'
import { Inject, Injectable, Module, SetMetadata, type DynamicModule } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService, MetadataScanner, NestFactory } from '@nestjs/core'
import { LockClient } from '@holdfast/core'
import { ticksOf, type ExclusiveRun } from '@holdfast/core/schedule'
import { ManualClock } from '@holdfast/faults/harness'
import { Cron as Croner } from 'croner'
import 'reflect-metadata'
import { eventually, signalled, useRig } from '../../../core/test/redis/support/rig.js'
import { Exclusive, LocksModule } from '../../src/index.js'

const CRON = 'test:cron'
/** The form of @nestjs/schedule: metadata of the method, by which the scheduler finds it. */
const Cron = (pattern: string): MethodDecorator => SetMetadata(CRON, pattern)

/** Croner, found and called as @nestjs/schedule does it; the test says when a timer of it fires. */
@Injectable()
class Scheduler {
  readonly errors: unknown[] = []
  private readonly jobs: Croner[] = []

  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(MetadataScanner) private readonly scanner: MetadataScanner,
  ) {}

  start(): void {
    for (const { instance } of this.discovery.getProviders()) {
      const host = instance as Record<string, (done?: () => void) => unknown> | undefined
      for (const name of host ? this.scanner.getAllMethodNames(Object.getPrototypeOf(host) as object) : []) {
        const method = host![name]!
        const pattern = Reflect.getMetadata(CRON, method) as string | undefined
        if (pattern !== undefined) {
          // The scheduler passes what it likes, and hears of errors only to log them.
          const tick = async (): Promise<void> => {
            await Promise.resolve(method.call(host, () => undefined)).catch((error: unknown) =>
              this.errors.push(error),
            )
          }
          this.jobs.push(new Croner(pattern, { paused: true }, tick))
        }
      }
    }
  }

  async tick(): Promise<void> {
    for (const job of this.jobs) await job.trigger()
  }

  stop(): void {
    for (const job of this.jobs) job.stop()
  }
}

describe('@Exclusive', () => {
  const opened: (() => Promise<void>)[] = []
  // Also after a test that fails: a scheduler would keep the process alive.
  afterEach(async () => {
    const closing = opened.splice(0).map((close) => close())
    await Promise.all(closing)
    if (closing.length > 0) {
      // A connection that was closed is gone for Redis a moment later.
      await eventually(async () => String(await redis.server.command('PUBSUB', 'CHANNELS')) === '')
    }
  })
  const redis = useRig({ redis: 'test' })

  const open = async <T extends object>(
    provider: new (...args: never[]) => T,
    modules: DynamicModule[] = [LocksModule.forRoot({ redis: redis.server.url })],
  ): Promise<{ task: T; locks: LockClient; scheduler: Scheduler }> => {
    @Module({ imports: [...modules, DiscoveryModule], providers: [provider, Scheduler] })
    class AppModule {}
    const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false })
    const scheduler = app.get(Scheduler)
    const close = async (): Promise<void> => {
      scheduler.stop()
      await app.close()
    }
    opened.push(close)
    return { task: app.get(provider), locks: app.get(LockClient), scheduler }
  }

  /** A call as a scheduler makes it, which knows nothing of runs. */
  const tick = (method: (run: ExclusiveRun) => unknown, host: object, ...args: unknown[]): Promise<unknown> =>
    (method as (...given: unknown[]) => Promise<unknown>).apply(host, args)

  it('runs each tick of a scheduler once in the fleet, where one is later by more than a run takes', async () => {
    const clock = new ManualClock(1_000_000)
    const begun: number[] = []
    @Injectable()
    class Reports {
      @Cron('*/2 * * * * *')
      @Exclusive({ everyMs: 2_000 })
      nightly(run: ExclusiveRun): void {
        begun.push(run.tick.getTime())
      }
    }
    const modules = (): DynamicModule[] => [
      LocksModule.forRoot({ redis: redis.server.url, options: { runtime: clock } }),
    ]
    const fleet = [await open(Reports, modules()), await open(Reports, modules())]
    const [ahead, late] = fleet.map(({ scheduler }) => scheduler) as [Scheduler, Scheduler]
    fleet.forEach(({ scheduler }) => scheduler.start())
    for (const tick of [1_002_000, 1_004_000, 1_006_000]) {
      // A timer may be early by a little.
      await clock.advance(tick - 150 - clock.wallNow())
      await ahead.tick()
      await clock.advance(400)
      await late.tick()
    }
    expect(fleet.flatMap(({ scheduler }) => scheduler.errors)).toEqual([])
    expect(begun).toEqual([1_002_000, 1_004_000, 1_006_000])
    const ticks = await ticksOf(fleet[0]!.locks, 'Reports.nightly')
    expect(ticks.map(({ state }) => state)).toEqual(['done', 'done', 'done'])
  })

  it('gives the method its run, in a context, and skips while another runs', async () => {
    const inside = signalled()
    const leave = signalled()
    const runs: ExclusiveRun[] = []
    const ids: (number | undefined)[] = []
    @Injectable()
    class Reports {
      readonly greeting = 'hello'
      constructor(@Inject(LockClient) readonly locks: LockClient) {}

      @Exclusive({ name: 'report', tick: (date: Date) => date })
      async make(run: ExclusiveRun): Promise<void> {
        expect(this.greeting).toBe('hello')
        runs.push(run)
        ids.push(this.locks.currentThreadId)
        inside.resolve()
        await leave.promise
      }
    }
    const [one, other] = [await open(Reports), await open(Reports)]
    const first = tick(one.task.make, one.task, new Date(1_000))
    await inside.promise
    expect(await tick(other.task.make, other.task, new Date(2_000))).toBeUndefined()
    leave.resolve()
    await first
    await tick(other.task.make, other.task, new Date(1_000))
    await tick(other.task.make, other.task, new Date(3_000))
    const told = runs.map(({ tick: at, missed }) => [Number(at), missed.map(Number)])
    expect(told).toEqual([
      [1_000, []],
      [3_000, [2_000]],
    ])
    expect(ids).toEqual([expect.any(Number), expect.any(Number)])
  })

  it('rejects with what the method throws, which is noted, and with what locks refuse', async () => {
    @Injectable()
    class Reports {
      @Exclusive({ tick: (at: number) => at })
      async make(): Promise<void> {
        await Promise.reject(new Error('no paper'))
      }
    }
    const { task, locks } = await open(Reports)
    await expect(tick(task.make, task, 5)).rejects.toThrow('no paper')
    expect(await ticksOf(locks, 'Reports.make')).toMatchObject([
      { state: 'failed', error: 'Error: no paper' },
    ])
    await locks.close()
    await expect(tick(task.make, task, 6)).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
  })

  it('refuses a process that comes twice for one tick: nobody would run the second', async () => {
    let runs = 0
    @Injectable()
    class Reports {
      @Exclusive()
      make(): void {
        runs += 1
      }
    }
    const { task } = await open(Reports)
    // A minute may end between two of three calls, not between each of them.
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => tick(task.make, task)))
    const refused = outcomes
      .filter((each) => each.status === 'rejected')
      .map(({ reason }) => reason as unknown)
    expect(refused.length).toBeGreaterThanOrEqual(1)
    expect(refused[0]).toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'everyMs' })
    expect(runs).toBeGreaterThanOrEqual(1)
  })

  it('keeps the metadata of the method, whichever decorator stands above', () => {
    class Reports {
      @Cron('above')
      @Exclusive()
      one(): void {}

      @Exclusive()
      @Cron('below')
      other(): void {}
    }
    const { one, other } = Reports.prototype
    expect([one, other].map((method) => Reflect.getMetadata(CRON, method) as string)).toEqual([
      'above',
      'below',
    ])
    expect([one.name, other.name]).toEqual(['one', 'other'])
  })

  it('takes the client of a name', async () => {
    @Injectable()
    class Reports {
      owner = ''
      @Exclusive({ client: 'billing', tick: () => 7 })
      make({ hold }: ExclusiveRun): void {
        this.owner = hold.owner
      }
    }
    const { task } = await open(Reports, [
      LocksModule.forRoot({ redis: redis.server.url }),
      LocksModule.forRoot({ name: 'billing', redis: redis.server.url, options: { clientName: 'billing' } }),
    ])
    await tick(task.make, task)
    expect(task.owner).toMatch(/^billing~/)
  })

  it('keeps an application from starting that has no locks for it, and is refused in an object of nobody', async () => {
    @Injectable()
    class Reports {
      @Exclusive({ client: 'nobody', tick: () => 7 })
      make(): void {}
    }
    @Module({ providers: [Reports] })
    class AppModule {}
    const start = NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false })
    await expect(start).rejects.toThrow(/can't resolve dependencies of the Reports/)
    const alone = new Reports()
    await expect(tick(alone.make, alone)).rejects.toMatchObject({ argument: '@Exclusive' })
  })

  it.each<[string, object]>([
    ['options', { every: 5 }],
    ['name', { name: '' }],
    ['client', { client: 5 }],
    ['everyMs', { everyMs: 0 }],
    ['everyMs', { everyMs: 1.5 }],
    ['everyMs', { everyMs: 1_000, tick: () => 5 }],
    ['tick', { tick: 5 }],
    ['atMostForMs', { atMostForMs: -1 }],
    ['atLeastForMs', { atMostForMs: 1_000, atLeastForMs: 2_000 }],
  ])('refuses at once what cannot be meant: %s of %p', (argument, options) => {
    const call = (): unknown => Exclusive(options)
    expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', argument }))
  })

  it('refuses to stand on anything but a method of objects', () => {
    const decorate = Exclusive() as unknown as (...given: unknown[]) => unknown
    const descriptor = { value: () => undefined }
    for (const given of [
      [class {}, 'make', descriptor],
      [{}, 'make', undefined],
      [{}, 'make', { value: 5 }],
    ]) {
      expect(() => decorate(...given)).toThrow(expect.objectContaining({ argument: '@Exclusive' }))
    }
  })
})
