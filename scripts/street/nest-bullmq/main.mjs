// A deployment of a Nest service with 200 jobs of BullMQ under locks, two of them long, and a request in flight on a
// keep-alive connection: nothing fails, and the next process does the rest, each job once.
import 'reflect-metadata'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { BullModule, Processor, WorkerHost } from '@nestjs/bullmq'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { locked } from '@holdfast/bullmq'
import { LockClient } from '@holdfast/core'
import { LocksModule } from '@holdfast/nestjs'
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'

const url = process.env.REDIS_URL
const connection = { host: '127.0.0.1', port: Number(new URL(url).port), maxRetriesPerRequest: null }
const JOBS = 200
const LONG_MS = process.argv.includes('--short') ? 2_000 : 8_000
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const processorOf = (name, locks, redis) =>
  locked(
    async (job) => {
      await redis.rpush(`${name}:began`, job.id)
      process.send?.('began')
      await sleep(job.data.ms)
      // Locks are there to the end.
      await locks.getLock(`${name}:inner:${job.data.id % 5}`).withLock(() => undefined)
    },
    { locks, name: (job) => `${name}:stock:${job.data.id % 50}` },
  )

const service = async (name, order) => {
  const redis = new Redis(url)
  class Jobs extends WorkerHost {
    constructor(locks) {
      super()
      this.run = processorOf(name, locks, redis)
    }

    process(job, token, signal) {
      return this.run(job, token, signal)
    }
  }
  Reflect.defineMetadata('design:paramtypes', [LockClient], Jobs)
  Processor(name, { concurrency: 2 })(Jobs)
  class Api {
    async slow() {
      process.send('request')
      await sleep(300)
      return 'answer'
    }
  }
  Controller()(Api)
  Get('slow')(Api.prototype, 'slow', Object.getOwnPropertyDescriptor(Api.prototype, 'slow'))
  class App {}
  const modules = [
    LocksModule.forRoot({ redis: url, graceMs: 500 }),
    BullModule.forRoot({ connection }),
    BullModule.registerQueue({ name }),
  ]
  Module({ imports: order === 'first' ? modules : modules.reverse(), providers: [Jobs], controllers: [Api] })(
    App,
  )
  const app = await NestFactory.create(App, { logger: ['error'] })
  app.enableShutdownHooks()
  await app.listen(0, '127.0.0.1')
  process.send({ port: app.getHttpServer().address().port })
  process.on('message', () => app.close().then(() => process.exit()))
}

const deploy = async (order, how) => {
  const name = `street-${order}-${how}-${process.pid}`
  const [queue, redis] = [new Queue(name, { connection }), new Redis(url)]
  const data = (_, id) => ({ name: 'job', data: { id, ms: id < 2 ? LONG_MS : 20 } })
  await queue.addBulk(Array.from({ length: JOBS }, data))
  const child = fork(process.argv[1], ['service', name, order])
  const exited = once(child, 'exit')
  let began = 0
  let answer
  const agent = new http.Agent({ keepAlive: true })
  await new Promise((resolve) =>
    child.on('message', (message) => {
      if (message.port)
        http.get(
          { agent, port: message.port, host: '127.0.0.1', path: '/slow' },
          (r) => r.resume() && (answer = r.statusCode),
        )
      if (message === 'began') began += 1
      if (message === 'request') answer = 'waits'
      if (began >= 2 && answer) resolve()
    }),
  )
  if (how === 'close') child.send('close')
  else child.kill(how)
  await exited
  agent.destroy()
  const left = await queue.getJobCounts()
  const locks = await LockClient.connect(url)
  const next = new Worker(name, processorOf(name, locks, redis), { connection, concurrency: 10 })
  while ((await queue.getCompletedCount()) + (await queue.getFailedCount()) < JOBS) await sleep(50)
  await next.close()
  const ran = await redis.lrange(`${name}:began`, 0, -1)
  const failed = await queue.getFailedCount()
  const isRight =
    answer === 200 && failed === 0 && ran.length === JOBS && new Set(ran).size === JOBS && left.active === 0
  console.log(
    `${isRight ? 'ok' : 'WRONG'}: locks imported ${order}, ${how}: answered ${answer}, failed ${failed}, began ${ran.length} of ${JOBS}, left to the next process ${left.waiting + left.delayed}`,
  )
  await locks.close()
  await queue.obliterate({ force: true })
  await queue.close()
  await redis.del(`${name}:began`)
  redis.disconnect()
  return isRight
}

if (process.argv[2] === 'service') {
  await service(process.argv[3], process.argv[4])
} else {
  const results = await Promise.all([deploy('first', 'SIGTERM'), deploy('last', 'close')])
  process.exitCode = results.every(Boolean) ? 0 : 1
}
