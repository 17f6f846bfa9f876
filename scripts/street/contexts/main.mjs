// The table "What keeps a context" of docs/contexts.md: whose context a queue's worker has for the job of the second of two
// callers, and that the cure keeps two jobs from being inside one lock at once.
import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import { detached, LockClient } from '@holdfast/core'
import async from 'async'
import DataLoader from 'dataloader'
import fastq from 'fastq'
import pLimit from 'p-limit'
import PQueue from 'p-queue'
import PQueue9 from 'p-queue9'
import { concatMap, Subject } from 'rxjs'

/** Each with a function that puts one job in, and calls the work for it. */
const QUEUES = {
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
  'p-queue 10': (work) => {
    const queue = new PQueue({ concurrency: 1 })
    return (job) => queue.add(() => work(job))
  },
  'p-limit from 5': (work) => {
    const limit = pLimit(1)
    return (job) => limit(() => work(job))
  },
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const storage = new AsyncLocalStorage()
const locks = await LockClient.connect(process.env.REDIS_URL)
const page = JSON.parse(readFileSync('recipes.json', 'utf8'))['docs/contexts.md']['What keeps a context']

/** In whose context the second job runs, of two that wait for each other. */
const contextOfSecond = async (queueOf) => {
  const seen = []
  const push = queueOf(async () => {
    seen.push(storage.getStore())
    await sleep(20)
  })
  await Promise.all(['first', 'second'].map((who) => storage.run(who, () => push(who))))
  return seen.at(-1)
}

/** Who is inside beside the job of the second, with the cure: the first holds the lock, and has put a job in. */
const besideSecond = async (queueOf, name) => {
  const [lock, inside, beside] = [locks.getLock(name), new Set(), []]
  const enter = async (who, ms) => {
    if (who === 'second') beside.push(...inside)
    inside.add(who)
    await sleep(ms)
    inside.delete(who)
  }
  const push = queueOf((who) => detached(() => lock.withLock(() => enter(who, 20))))
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

for (const [name, queueOf] of Object.entries(QUEUES)) {
  const [own, foreign] = [0, 1].map((column) => page.rows.some((row) => row[column]?.includes(name)))
  const context = await contextOfSecond(queueOf)
  const beside = await besideSecond(queueOf, `street-${process.pid}-${name}`)
  const isRight = own !== foreign && context === (own ? 'second' : 'first') && beside.length === 0
  console.log(`${isRight ? 'ok' : 'WRONG'}: ${name}: in the context of the ${context}; beside it ${beside}`)
  if (!isRight) process.exitCode = 1
}
await locks.close()
