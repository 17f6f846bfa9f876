/* eslint-disable @typescript-eslint/no-extraneous-class, @typescript-eslint/no-unsafe-class-instance-assignment --
   modules of Nest are empty classes, and its options are classes by name alone */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { Controller, Inject, Module, Post, type INestApplication } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { LockClient, type Hold } from '@holdfast/core'
import { Redis } from 'ioredis'
import { randomUUID } from 'node:crypto'
import 'reflect-metadata'
import { LocksModule, type LocksModuleOptions } from '../../src/index.js'
import { eventually } from '../../../core/test/redis/support/rig.js'
import { useWarnings } from '../../../core/test/redis/support/warnings.js'

const redisUrl = process.env.HOLDFAST_TEST_REDIS_URL ?? 'redis://127.0.0.1:6379'
const CODE = 'HOLDFAST_HOLD_OUTLIVES_CONTEXT'

let name = ''
let hold: Hold | undefined

@Controller()
class Api {
  constructor(@Inject(LockClient) private readonly locks: LockClient) {}

  @Post('forget')
  async forget(): Promise<void> {
    hold = await this.locks.getLock(name).lock()
  }
}

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
])('a handler in Nest on %s that leaves its lock held', (_name, makeAdapter) => {
  const admin = new Redis(redisUrl, { lazyConnect: true })
  const warnings = useWarnings()
  let app: INestApplication | undefined
  beforeAll(() => admin.connect())
  afterAll(() => admin.disconnect())
  afterEach(async () => {
    await app?.close()
    await eventually(async () => (await admin.keys(`*${name}*`)).length === 0)
  })

  const forget = async (options?: LocksModuleOptions['options']): Promise<Hold> => {
    name = `t${randomUUID().slice(0, 8)}`
    @Module({
      imports: [LocksModule.forRoot({ redis: redisUrl, graceMs: 0, ...(options && { options }) })],
      controllers: [Api],
    })
    class AppModule {}
    const quiet = { logger: false as const, abortOnError: false }
    app = await NestFactory.create(AppModule, makeAdapter() as ExpressAdapter, quiet)
    await app.listen(0, '127.0.0.1')
    expect((await fetch(`${await app.getUrl()}/forget`, { method: 'POST' })).status).toBe(201)
    return hold!
  }

  it('is told of by default, and the lock stays', async () => {
    const held = await forget()
    await eventually(() => warnings.of(CODE, name).length === 1)
    expect(warnings.of(CODE, name)[0]!.message).toMatch(/a request[^]*Taken: lock\(\)[^]*Api\.forget/)
    expect(await held.release()).toBe('released')
  })

  it("is not told of with 'keep', and the lock stays", async () => {
    const held = await forget({ onContextEnd: 'keep' })
    await held.verify()
    expect(await held.release()).toBe('released')
    await app!.close()
    expect(await warnings.delivered(CODE, name)).toEqual([])
  })

  it("loses it with 'release': its signal aborts, and the lock is free after graceMs", async () => {
    const held = await forget({ onContextEnd: 'release', graceMs: 50 })
    await eventually(() => held.signal.aborted)
    expect(held.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'context-ended' })
    await eventually(async () => !(await app!.get(LockClient).getLock(name).isLocked()))
    expect(await warnings.delivered(CODE, name)).toEqual([])
  })
})
