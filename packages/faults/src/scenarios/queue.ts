// Jobs of a BullMQ queue that share resources, with workers in several processes: what each strategy does on a conflict
// and what it costs, beside the same queue without locks. docs/queues.md has the figures.
import { setTimeout as sleep } from 'node:timers/promises'
import { locked } from '@holdfast/bullmq'
import { LockClient } from '@holdfast/core'
import { emit } from '@holdfast/faults/harness'
import { Queue, Worker, type Job, type JobsOptions, type Processor, type WorkerOptions } from 'bullmq'
import { Redis } from 'ioredis'
import type { Worker as Process } from '../run/fleet.js'
import { count, ms, someOf } from '../run/options.js'
import { seededRandom } from '../run/random.js'
import { defineScenario, type Roles, type Run } from '../run/scenario.js'
import { sum, table } from '../run/table.js'

const LEASE_MS = 1_500
const LIMIT_MS = 60_000
// What a killed worker had comes back when its lock in the queue has ended, and its resource when its lease has.
const SOON = { lockDuration: 1_000, stalledInterval: 300 }
const RETRIES: JobsOptions = { attempts: 10_000, backoff: { type: 'fixed', delay: 20 } }

interface Strategy {
  /** Of `locked`; null: no lock at all. */
  readonly options: { onConflict: 'delay' | 'wait' | 'fail'; delayMs?: number; waitMs?: number } | null
  readonly fair?: boolean
  readonly job?: JobsOptions
  readonly worker?: Partial<WorkerOptions>
  /** Whether a worker is killed amid the run. */
  readonly kill?: boolean
}

const STRATEGIES = {
  plain: { options: null },
  delay: { options: { onConflict: 'delay' } },
  'delay-20': { options: { onConflict: 'delay', delayMs: 20 } },
  'delay-200': { options: { onConflict: 'delay', delayMs: 200 } },
  'wait-then-delay': { options: { onConflict: 'delay', waitMs: 50, delayMs: 20 } },
  wait: { options: { onConflict: 'wait' } },
  'wait-fair': { options: { onConflict: 'wait' }, fair: true },
  fail: { options: { onConflict: 'fail' }, job: RETRIES },
  'delay-killed': { options: { onConflict: 'delay', delayMs: 20 }, worker: SOON, kill: true },
} satisfies Record<string, Strategy>

type StrategyName = keyof typeof STRATEGIES

const options = {
  jobs: count(1_000, 'in all'),
  resources: count(10, 'that they share, one each, at random'),
  processes: count(4, 'with one worker each', { least: 2 }),
  concurrency: count(5, 'jobs of one worker at a time'),
  work: ms(5, 'what a job takes'),
  only: someOf(Object.keys(STRATEGIES) as StrategyName[], 'strategies'),
}

interface JobData {
  readonly number: number
  readonly resource: number
}

export const queue = defineScenario({
  name: 'queue',
  summary: 'Jobs of a BullMQ queue that share resources: never two at once, and what each strategy costs.',
  options,
  smoke: '--jobs 120 --resources 3 --processes 3',
  long: '',
  heading: ({ jobs, resources, processes, concurrency, work }) =>
    `${jobs} jobs of ${work} ms on ${resources} resources, ${processes} workers with ${concurrency} at a time each`,

  async run(run) {
    const results: Result[] = []
    for (const name of run.options.only) {
      run.progress(name)
      results.push(await runStrategy(run, name, STRATEGIES[name]))
    }
    return {
      figures: results,
      report: table([HEAD, ...results.map(row)]),
      violations: results.flatMap(({ name, problems }) => problems.map((each) => `${name}: ${each}`)),
    }
  },

  worker(): Roles {
    let [redis, locks, worker]: [Redis?, LockClient?, Worker?] = []
    return {
      async begin(settings: {
        name: string
        url: string
        strategy: Strategy
        concurrency: number
        workMs: number
      }) {
        const { url, name, strategy, concurrency, workMs } = settings
        redis = new Redis(url)
        redis.on('error', () => undefined)
        locks = await LockClient.connect(redis, { clientName: name, lockWatchdogTimeout: LEASE_MS })
        const { hostname: host, port } = new URL(url)
        const connection = { host, port: Number(port), maxRetriesPerRequest: null }
        const processor = processorOf(strategy, locks, work(redis, name, workMs))
        worker = new Worker('jobs', processor, {
          connection,
          concurrency,
          autorun: false,
          ...strategy.worker,
        })
        worker.on('error', (error) => emit('trouble', error.message))
        await worker.waitUntilReady()
      },
      run() {
        void worker?.run()
      },
      async finish() {
        await worker?.close()
        await locks?.close()
        redis?.disconnect()
      },
    }
  },
})

/** Says in Redis that the resource is in use, and whether it was so already; the runner takes out a killed worker. */
const work =
  (redis: Redis, name: string, workMs: number) =>
  async ({ id, data: { resource, number } }: Job<JobData>): Promise<void> => {
    const inUse = `in-use:${resource}`
    const me = `${name} ${id}`
    const replies = await redis
      .multi()
      .hset(inUse, me, 1)
      .hlen(inUse)
      .rpush(`order:${resource}`, number)
      .exec()
    if (Number(replies?.[1]?.[1]) > 1) await redis.incr('overlaps')
    await sleep(workMs)
    await redis.hdel(inUse, me)
  }

const processorOf = (
  { options: how, fair = false }: Strategy,
  locks: LockClient,
  go: (job: Job<JobData>) => Promise<void>,
): Processor<JobData, void> => {
  if (!how) return go
  const name = ({ data }: Job<JobData>): string => `resource:${data.resource}`
  return fair
    ? locked(go, { ...how, lock: (job: Job<JobData>) => locks.getFairLock(name(job)) })
    : locked(go, { ...how, locks, name })
}

const runStrategy = async (
  run: Run<typeof options>,
  name: StrategyName,
  strategy: Strategy,
): Promise<Result> => {
  const { fleet, seed } = run
  const { jobs, resources, processes, concurrency, work: workMs } = run.options
  const server = await run.redis()
  const redis = new Redis(server.url)
  const jobsQueue = new Queue('jobs', { connection: { host: server.host, port: server.port } })
  try {
    for (let i = 0; i < processes; i += 1) {
      await fleet.launch({ url: server.url, strategy, concurrency, workMs })
    }
    const random = seededRandom(seed)
    const added = Array.from({ length: jobs }, (_, number) => ({
      name: 'job',
      data: { number, resource: random.whole(resources) },
      opts: strategy.job ?? {},
    }))
    await jobsQueue.addBulk(added)
    const tookMs = await runThrough(run, { jobsQueue, redis, kills: strategy.kill === true })
    await fleet.callAll('finish')
    return { name, ...judge(await look(jobsQueue, redis, resources), strategy, { jobs, tookMs }) }
  } finally {
    await fleet.stop()
    await jobsQueue.close()
    redis.disconnect()
    await server.stop()
  }
}

/** @returns how long it took from the first start to the last end, ms */
const runThrough = async (
  { fleet, interrupted, options: { jobs } }: Run<typeof options>,
  { jobsQueue, redis, kills }: { jobsQueue: Queue; redis: Redis; kills: boolean },
): Promise<number> => {
  const startedAt = performance.now()
  await fleet.callAll('run')
  let victim = kills ? fleet.workers.at(-1) : undefined
  for (;;) {
    interrupted.throwIfAborted()
    const { completed = 0, failed = 0 } = await jobsQueue.getJobCounts('completed', 'failed')
    const tookMs = performance.now() - startedAt
    if (completed + failed >= jobs) return tookMs
    if (victim && completed > jobs / 4) {
      await fleet.kill(victim)
      await takeOut(victim, redis)
      victim = undefined
    }
    if (tookMs > LIMIT_MS) throw new Error(`${completed} of ${jobs} jobs after ${LIMIT_MS} ms`)
    await sleep(10)
  }
}

/** What a killed worker used is not in use any more; its lease keeps others out for a while still. */
const takeOut = async ({ name }: Process, redis: Redis): Promise<void> => {
  for (const key of await redis.keys('in-use:*')) {
    const mine = (await redis.hkeys(key)).filter((each) => each.startsWith(`${name} `))
    if (mine.length > 0) await redis.hdel(key, ...mine)
  }
}

interface Seen {
  readonly jobs: readonly Job[]
  /** Of each resource, the numbers of the jobs that ran, in order. */
  readonly orders: readonly (readonly number[])[]
  readonly overlaps: number
  /** Keys of locks that nobody can still hold. Tombstones, and lines that are empty, end by themselves. */
  readonly left: readonly string[]
}

const look = async (jobsQueue: Queue, redis: Redis, resources: number): Promise<Seen> => {
  const orders = Array.from({ length: resources }, async (_, i) =>
    (await redis.lrange(`order:${i}`, 0, -1)).map(Number),
  )
  const keys = await redis.keys('*resource:*')
  return {
    jobs: (await jobsQueue.getJobs(['completed'])) as Job[],
    orders: await Promise.all(orders),
    overlaps: Number((await redis.get('overlaps')) ?? 0),
    left: keys.filter((key) => !/^holdfast:(latch|line):/.test(key)),
  }
}

interface Result {
  readonly name: string
  readonly done: number
  readonly overlaps: number
  /** Attempts that were used up. */
  readonly failures: number
  /** Starts of each job. */
  readonly starts: number
  readonly perSecond: number
  /** Part of the jobs that ran after one that was added later. */
  readonly overtaken: number
  readonly problems: readonly string[]
}

const judge = (
  { jobs, orders, overlaps, left }: Seen,
  { options: how, kill, job }: Strategy,
  wanted: { jobs: number; tookMs: number },
): Omit<Result, 'name'> => {
  const failures = sum(jobs.map(({ attemptsMade }) => attemptsMade - 1))
  const runs = sum(orders.map((order) => order.length))
  return {
    ...{ done: jobs.length, overlaps, failures },
    starts: sum(jobs.map(({ attemptsStarted }) => attemptsStarted)) / jobs.length,
    perSecond: wanted.jobs / (wanted.tookMs / 1_000),
    overtaken: sum(orders.map(overtakenIn)) / wanted.jobs,
    problems: [
      ...(jobs.length === wanted.jobs ? [] : [`${jobs.length} of ${wanted.jobs} jobs were done`]),
      ...(how && overlaps > 0 ? [`I1 ${overlaps} times two at once on a resource`] : []),
      ...(!job && failures > 0 ? [`${failures} attempts were used up`] : []),
      ...(kill !== true && runs !== wanted.jobs ? [`${runs} runs for ${wanted.jobs} jobs`] : []),
      ...(left.length > 0 ? [`I8 left in Redis: ${left.join(', ')}`] : []),
    ],
  }
}

const overtakenIn = (order: readonly number[]): number => {
  let latest = -1
  return order.filter((number) => {
    const isLate = number < latest
    latest = Math.max(latest, number)
    return isLate
  }).length
}

const HEAD = ['on a conflict', 'jobs/s', 'two at once', 'starts per job', 'attempts lost', 'overtaken']

const row = ({ name, perSecond, overlaps, starts, failures, overtaken }: Result): string[] => [
  name,
  perSecond.toFixed(0),
  String(overlaps),
  starts.toFixed(2),
  String(failures),
  `${(overtaken * 100).toFixed(0)} %`,
]
