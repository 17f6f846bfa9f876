// A deployment of a Nest service with 200 jobs of BullMQ under locks, two of them long, and a request in flight on a
// keep-alive connection; and of the program of packages/bullmq/README.md. Nothing fails, and the next process, a worker of
// docs/queues.md, does the rest, each job once.
import 'reflect-metadata'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
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

const RECIPES = JSON.parse(readFileSync('recipes.json', 'utf8'))
const [RECIPE] = RECIPES['docs/queues.md']['Jobs that share a resource'].blocks
const [PROGRAM] = RECIPES['packages/bullmq/README.md']['@holdfast/bullmq'].blocks

/** The job: `began` is told, and locks are there to its end. */
const workOf = (name, locks, redis) => async (job) => {
  await redis.rpush(`${name}:began`, job.id)
  process.send?.('began')
  await sleep(job.data.ms)
  await locks.getLock(`${name}:inner:${job.data.id % 5}`).withLock(() => undefined)
}
const processorOf = (name, locks, redis) =>
  locked(workOf(name, locks, redis), { locks, name: (job) => `${name}:stock:${job.data.id % 50}` })

/** The worker of docs/queues.md. */
const workerOf = (name, locks, redis) => {
  const code = RECIPE.replace("'orders'", 'name').replace('ship(job.data.order, signal)', 'work0(job)')
  const scope = { locked, Worker, locks, connection, name, work0: workOf(name, locks, redis) }
  return new Function(...Object.keys(scope), `${code}\nreturn worker`)(...Object.values(scope))
}

/** The program of the README of @holdfast/bullmq, in the place of this one. */
const program = async (name) => {
  const code = PROGRAM.replace("'transfers'", `'${name}'`)
    .replaceAll('redis://localhost:6379', url)
    .replace('6379', connection.port)
    .replace(/console\.log\(.*\)/, 'await work0(job)')
  const file = `program-${name}.mjs`
  const given = `import { Redis } from 'ioredis'
const redis = new Redis('${url}')
redis.on('ready', () => redis.stream.unref())
const sleep = ${sleep}
const workOf = ${workOf}
const work0 = (job) => workOf('${name}', locks, redis)(job)`
  await writeFile(file, `${given}\n${code}`)
  await import(`./${file}`)
  process.send({ port: 0 })
}

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
  Module({
    imports: order.endsWith('first') ? modules : modules.reverse(),
    providers: [Jobs],
    controllers: [Api],
  })(App)
  const app = await NestFactory.create(App, { logger: ['error'] })
  app.enableShutdownHooks()
  await app.listen(0, '127.0.0.1')
  process.send({ port: app.getHttpServer().address().port })
  process.on('message', () => app.close().then(() => process.exit()))
}

const deploy = async (order, how) => {
  const name = `street-${order.split(' ').at(-1)}-${how}-${process.pid}`
  const [queue, redis] = [new Queue(name, { connection }), new Redis(url)]
  const data = (_, id) => {
    const of = `${name}:${id % 50}`
    return { name: 'job', data: { id, ms: id < 2 ? LONG_MS : 20, account: of, order: of } }
  }
  await queue.addBulk(Array.from({ length: JOBS }, data))
  const child = fork(process.argv[1], [order === 'program' ? order : 'service', name, order])
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
      // It serves nobody.
      if (message.port === 0) answer = 200
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
  const next = workerOf(name, locks, redis)
  while ((await queue.getCompletedCount()) + (await queue.getFailedCount()) < JOBS) await sleep(50)
  await next.close()
  const ran = await redis.lrange(`${name}:began`, 0, -1)
  const failed = await queue.getFailedCount()
  const isRight =
    answer === 200 && failed === 0 && ran.length === JOBS && new Set(ran).size === JOBS && left.active === 0
  console.log(
    `${isRight ? 'ok' : 'WRONG'}: ${order}, ${how}: answered ${answer}, failed ${failed}, began ${ran.length} of ${JOBS}, left to the next process ${left.waiting + left.delayed}`,
  )
  await locks.close()
  await queue.obliterate({ force: true })
  await queue.close()
  await redis.del(`${name}:began`)
  redis.disconnect()
  await rm(`program-${name}.mjs`, { force: true })
  return isRight
}

if (process.argv[2] === 'program') {
  await program(process.argv[3])
} else if (process.argv[2] === 'service') {
  await service(process.argv[3], process.argv[4])
} else {
  const results = await Promise.all([
    deploy('locks imported first', 'SIGTERM'),
    deploy('locks imported last', 'close'),
    deploy('program', 'SIGTERM'),
  ])
  process.exitCode = results.every(Boolean) ? 0 : 1
}
