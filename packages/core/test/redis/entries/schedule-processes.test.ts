import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { WorkerProcess } from '@holdfast/faults/harness'
import { Queue, Worker } from 'bullmq'
import type { LockClient } from '../../../src/index.js'
import { exclusive, ticksOf } from '../../../src/entries/schedule/index.js'
import { eventually, redisUrl, useRig } from '../support/rig.js'

const TICKS = 30
const PERIOD_MS = 300
// A machine that is busy with other tests stands still for a second now and then.
const LEASE_MS = 2_000
// Ahead by half a period, right, behind by half a period, and behind by more than two.
const SKEWS = [140, 0, -140, -700]
const KILLED_AT = [8, 17]

describe('a schedule in four processes', () => {
  const harness = useRig({ redis: 'all' })
  let workers: WorkerProcess[] = []
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.kill()))
    workers = []
  })

  it('runs each of 30 ticks once or reports it as missed, with clocks that differ, and with kills', async () => {
    const name = harness.name('report')
    let startAt = 0
    const reported = new Set<number>()
    const killed: number[] = []
    const replacements: Promise<void>[] = []
    const launch = async (skewMs: number): Promise<() => Promise<void>> => {
      const worker = await WorkerProcess.start(new URL('../workers/schedule-worker.mjs', import.meta.url))
      workers.push(worker)
      worker.on('begun', (missed) => (missed as number[]).forEach((each) => reported.add(each)))
      worker.on('to-be-killed', (tick) => {
        killed.push(tick as number)
        workers = workers.filter((each) => each !== worker)
        replacements.push(worker.kill().then(async () => (await launch(skewMs))()))
      })
      await worker.call('begin', { url: redisUrl, leaseMs: LEASE_MS, clientName: `skew${skewMs}` })
      const task = { name, periodMs: PERIOD_MS, ticks: TICKS, skewMs, workMs: 20, killedAt: KILLED_AT }
      return () => worker.call('tick', { ...task, startAt }) as Promise<void>
    }
    const starts = await Promise.all(SKEWS.map(launch))
    startAt = Date.now() + 500
    await Promise.all(starts.map((start) => start()))
    await eventually(() => replacements.length === KILLED_AT.length, 20_000)
    await Promise.all(replacements)
    await Promise.all(workers.map((worker) => worker.call('finish')))

    const begun = (await harness.admin.lrange(`${name}:begun`, 0, -1)).map(Number)
    await harness.admin.del(`${name}:begun`, `${name}:killed`)
    expect(begun).toEqual([...new Set(begun)].sort((a, b) => a - b))
    const locks = await harness.client()
    const states = new Map((await ticksOf(locks, name)).map(({ tick, state }) => [tick.getTime(), state]))
    expect([...states.keys()]).toEqual(Array.from({ length: TICKS }, (_, i) => i + 1))
    const ran = [...states].filter(([, state]) => state === 'done').map(([tick]) => tick)
    const missed = [...states].filter(([, state]) => state === 'missed').map(([tick]) => tick)
    const unfinished = [...states].filter(([, state]) => state === 'unfinished').map(([tick]) => tick)
    expect(unfinished).toEqual(killed)
    expect(begun).toEqual([...ran, ...killed].sort((a, b) => a - b))
    expect(missed.length).toBeGreaterThan(0)
    // Whoever ran next was told of each; behind the last run there is nobody.
    const gaps = [...missed, ...killed].filter((tick) => tick < ran.at(-1)!)
    expect([...reported].sort((a, b) => a - b)).toEqual(gaps.sort((a, b) => a - b))
    // A dead one keeps others out for a lease, no longer.
    expect(ran.length).toBeGreaterThanOrEqual(
      TICKS - KILLED_AT.length * (2 + Math.ceil(LEASE_MS / PERIOD_MS)),
    )
  })
})

describe('with a scheduler that exists', () => {
  const harness = useRig({ redis: 'all' })
  let clients: LockClient[]

  beforeEach(async () => {
    clients = await Promise.all([1, 2].map(() => harness.client()))
  })

  const seconds = async (name: string): Promise<number[]> =>
    (await ticksOf(clients[0]!, name))
      .filter(({ state }) => state === 'done')
      .map(({ tick }) => tick.getTime())

  it("BullMQ's job scheduler: each job's tick once, also when the job comes twice", async () => {
    const name = harness.name('report')
    const { hostname: host, port } = new URL(redisUrl)
    const connection = { host, port: Number(port), maxRetriesPerRequest: null }
    const options = { connection, prefix: harness.name('bull') }
    const queue = new Queue('reports', options)
    await queue.upsertJobScheduler('report', { pattern: '* * * * * *' })
    const outcomes: string[] = []
    // A job that BullMQ makes late, on a busy machine, has no delay: its tick is when it was made.
    const late = new Set<number>()
    const [one, two] = clients.map((locks) => exclusive(name, { locks }, () => undefined))
    const worker = new Worker(
      'reports',
      async ({ timestamp, opts }) => {
        const tick = timestamp + (opts.delay ?? 0)
        if (!opts.delay) late.add(tick)
        const both = await Promise.all([one!({ tick }), two!({ tick })])
        outcomes.push(...both.map(({ kind }) => kind))
      },
      options,
    )
    await eventually(() => outcomes.length >= 6, 10_000)
    await queue.removeJobScheduler('report')
    await worker.close()
    await queue.obliterate({ force: true })
    await queue.close()
    const ticks = await seconds(name)
    const onTime = ticks.filter((tick) => !late.has(tick))
    expect(onTime).toEqual(onTime.filter((tick) => tick % 1_000 === 0))
    expect(outcomes.filter((kind) => kind === 'ran')).toHaveLength(ticks.length)
    expect(outcomes).toHaveLength(2 * ticks.length)
  })
})
