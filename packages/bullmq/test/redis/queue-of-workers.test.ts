import { describe, expect, it } from '@jest/globals'
import * as bullmq from 'bullmq'
import type { Job, JobsOptions, Worker, WorkerOptions } from 'bullmq'
import { LockClient } from '@holdfast/core'
import { eventually, sleep } from '../../../core/test/redis/support/rig.js'
import { locked } from '../../src/index.js'
import type { OnConflict } from '../../src/options.js'
import { useQueues, type Data } from './support/queue-rig.js'

const JOBS = 120
const WORKERS = 3
const WORK_MS = 5
// The job of a dead worker comes back when its lock in the queue has ended, and its resource when its lease has.
const SOON = { lockDuration: 3_000, stalledInterval: 300 }
const LONG_MS = 120_000

const rig = useQueues(bullmq)

/** Jobs that share three resources, with a client for each worker. @returns what became of them */
const worked = async (
  onConflict: OnConflict | 'nothing',
  {
    job = {},
    worker: own = {},
    dies = false,
  }: { job?: JobsOptions; worker?: Partial<WorkerOptions>; dies?: boolean } = {},
) => {
  const queue = rig.queue()
  const inUse = new Map<string, string>()
  let [overlaps, runs, dead] = [0, 0, '']
  const workers: { worker: Worker; locks: LockClient }[] = []
  for (let i = 0; i < WORKERS; i += 1) {
    const locks = await LockClient.connect(rig.harness.connection(), { lockWatchdogTimeout: 4_000 })
    locks.on('lost', () => undefined)
    const work = async ({ data: { resource } }: Job<Data>): Promise<void> => {
      const me = `${i}`
      if (inUse.has(resource) && inUse.get(resource) !== dead) overlaps += 1
      inUse.set(resource, me)
      runs += 1
      await sleep(WORK_MS)
      // Nothing of a dead worker goes on.
      if (dead === me) await new Promise<void>((resolve) => rig.atEnd(resolve))
      inUse.delete(resource)
    }
    const name = ({ data }: Job<Data>): string => rig.harness.name(data.resource)
    const delayMs = 20
    const processor =
      onConflict === 'nothing'
        ? work
        : locked(work, { locks, name, onConflict, ...(onConflict === 'delay' && { delayMs }) })
    const isMortal = dies && i === WORKERS - 1
    const worker = rig.worker(processor, { concurrency: 5, skipLockRenewal: isMortal, ...own })
    workers.push({ worker, locks })
    if (isMortal) {
      await eventually(() => runs > 0)
      dead = `${i}`
      // Its lock ends with its lease.
      void locks.close({ graceMs: 0 })
      // It takes no more jobs, and what it has is never done.
      await worker.pause(true)
    }
    if (i === 0)
      await queue.addBulk(
        Array.from({ length: JOBS }, (_, k) => ({ name: 'job', data: { resource: `r${k % 3}` }, opts: job })),
      )
  }
  await eventually(async () => (await queue.getCompletedCount()) === JOBS, LONG_MS / 2)
  const jobs = await queue.getJobs(['completed'])
  const total = (of: (each: Job) => number): number => jobs.reduce((sum, each) => sum + of(each), 0)
  await Promise.all(workers.map(({ locks }) => locks.close({ graceMs: 0 })))
  return {
    overlaps,
    done: jobs.length,
    failures: total(({ attemptsMade }) => attemptsMade - 1),
    starts: total(({ attemptsStarted }) => attemptsStarted) / jobs.length,
  }
}

describe('jobs that share resources, with workers on clients of their own', () => {
  it(
    'run two at once without locks, and never with them: delayed or waiting, no attempt is used up (I1)',
    async () => {
      expect((await worked('nothing')).overlaps).toBeGreaterThan(0)
    },
    LONG_MS,
  )

  it.each(['delay', 'wait'] as const)(
    'never run two at once: %s, no attempt is used up (I1)',
    async (onConflict) => {
      const { starts, ...rest } = await worked(onConflict)
      expect(rest).toEqual({ done: JOBS, overlaps: 0, failures: 0 })
      expect(starts > 1).toBe(onConflict === 'delay')
    },
    LONG_MS,
  )

  it(
    'are all done where a conflict fails them, by their own attempts',
    async () => {
      const job = { attempts: 10_000, backoff: { type: 'fixed', delay: 20 } }
      const { failures, overlaps } = await worked('fail', { job })
      expect(overlaps).toBe(0)
      expect(failures).toBeGreaterThan(0)
    },
    LONG_MS,
  )

  it(
    'are all done when a worker dies among them, and still never two at once (I1)',
    async () => {
      expect(await worked('delay', { worker: SOON, dies: true })).toMatchObject({ done: JOBS, overlaps: 0 })
    },
    LONG_MS,
  )
})
