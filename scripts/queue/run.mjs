import { setTimeout as sleep } from 'node:timers/promises'
import { RedisServer, WorkerProcess } from '@holdfast/testing'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { seededRandom } from '../torture/random.mjs'
import { STRATEGIES } from './strategies.mjs'
import { verdict } from './verdict.mjs'

const WORKER = new URL('./worker.mjs', import.meta.url)
const LEASE_MS = 1_500
const LIMIT_MS = 60_000

/** @param {any} wanted @param {AbortSignal} interrupted */
export const runStrategies = async (wanted, interrupted) => {
  const results = []
  for (const name of wanted.only) {
    const seen = await runStrategy(wanted, STRATEGIES[name], interrupted)
    results.push({ name, ...verdict(seen, STRATEGIES[name]) })
  }
  return results
}

const runStrategy = async (wanted, strategy, interrupted) => {
  const server = await RedisServer.start()
  const redis = new Redis(server.url)
  const connection = { host: server.host, port: server.port }
  const queue = new Queue('jobs', { connection })
  const workers = []
  try {
    await startWorkers(wanted, { strategy, server, workers })
    await addJobs(wanted, { queue, strategy })
    const tookMs = await runThrough(wanted, { queue, redis, strategy, workers, interrupted })
    await Promise.all(workers.map(({ process }) => process.call('finish')))
    return { tookMs, wanted, ...(await look(queue, redis, wanted)) }
  } finally {
    await Promise.all(workers.map(({ process }) => process.kill()))
    await queue.close()
    redis.disconnect()
    await server.stop()
  }
}

const startWorkers = ({ processes, concurrency, workMs }, { strategy, server, workers }) =>
  Promise.all(
    Array.from({ length: processes }, async (_, i) => {
      const process = await WorkerProcess.start(WORKER)
      const name = `worker-${i}`
      workers.push({ name, process })
      await process.call('begin', { name, url: server.url, leaseMs: LEASE_MS, strategy, concurrency, workMs })
    }),
  )

const addJobs = async ({ jobs, resources, seed }, { queue, strategy }) => {
  const random = seededRandom(seed)
  const all = Array.from({ length: jobs }, (_, number) => ({
    name: 'job',
    data: { number, resource: random.whole(resources) },
    opts: strategy.job ?? {},
  }))
  await queue.addBulk(all)
}

/** @returns how long it took from the first start to the last end, ms */
const runThrough = async ({ jobs }, { queue, redis, strategy, workers, interrupted }) => {
  const startedAt = performance.now()
  await Promise.all(workers.map(({ process }) => process.call('run')))
  let victim = strategy.kill ? workers.at(-1) : null
  for (;;) {
    interrupted.throwIfAborted()
    const { completed, failed } = await queue.getJobCounts('completed', 'failed')
    if (completed + failed >= jobs) return performance.now() - startedAt
    if (victim && completed > jobs / 4) {
      await kill(victim, { redis, workers })
      victim = null
    }
    if (performance.now() - startedAt > LIMIT_MS)
      throw new Error(`${completed} of ${jobs} jobs after ${LIMIT_MS} ms`)
    await sleep(10)
  }
}

const kill = async (victim, { redis, workers }) => {
  workers.splice(workers.indexOf(victim), 1)
  await victim.process.kill()
  // What it used is not in use any more; its lease keeps others out for a while still.
  for (const key of await redis.keys('in-use:*')) {
    const mine = (await redis.hkeys(key)).filter((each) => each.startsWith(`${victim.name} `))
    if (mine.length > 0) await redis.hdel(key, ...mine)
  }
}

const look = async (queue, redis, { resources }) => {
  const jobs = await queue.getJobs(['completed'])
  const orders = await Promise.all(
    Array.from({ length: resources }, async (_, i) => (await redis.lrange(`order:${i}`, 0, -1)).map(Number)),
  )
  return { jobs, orders, overlaps: Number((await redis.get('overlaps')) ?? 0), left: await locksLeft(redis) }
}

/** Keys of locks that nobody can still hold. Latches, and lines that nobody stands in any more, end by themselves. */
const locksLeft = async (redis) => {
  const keys = await redis.keys('*resource:*')
  return keys.filter((key) => !/^holdfast:(latch|line):/.test(key))
}
