import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Job, Queue, WorkerOptions } from 'bullmq'
import * as bullmq6 from 'bullmq'
import * as bullmq5 from 'bullmq5'
import type { AnyLock, LockClient, LockHold } from '@holdfast/core'
import { aborted, rises } from '../../../core/test/redis/support/outcomes.js'
import { eventually, signalled } from '../../../core/test/redis/support/rig.js'
import { locked } from '../../src/index.js'
import type { ConflictOptions } from '../../src/options.js'
import { reaches, refreshed, useQueues, type Bull, type Data } from './support/queue-rig.js'

const VERSIONS: readonly (readonly [string, Bull])[] = [
  ['6', bullmq6],
  ['5', bullmq5 as unknown as Bull],
]

describe.each(VERSIONS)('locked, with BullMQ %s', (_, bull) => {
  const rig = useQueues(bull)
  const { harness } = rig
  let locks: LockClient
  let queue: Queue<Data>
  const name = ({ data }: Job<Data>): string => harness.name(data.resource)

  beforeEach(async () => {
    locks = await rig.client()
    queue = rig.queue()
  })

  /** A processor that says when it runs a job and ends when the test lets it. */
  const gate = () => {
    const running: string[] = []
    const opened = signalled()
    rig.atEnd(opened.resolve)
    const processor = async (job: Job<Data>): Promise<string> => {
      running.push(job.name)
      await opened.promise
      return job.name
    }
    return { running, open: opened.resolve, processor }
  }

  /** A worker with a job that has 'a' until the test opens the gate. */
  const busy = async (options: ConflictOptions<Job<Data>>, more: Partial<WorkerOptions> = {}) => {
    const { running, open, processor } = gate()
    const worker = rig.worker(locked(processor, { locks, name, ...options }), { concurrency: 2, ...more })
    await queue.add('first', { resource: 'a' })
    await eventually(() => running.length === 1)
    return { running, open, worker }
  }

  it('delays a job whose resource is busy: no attempt is used up, and the worker goes on with others (I1)', async () => {
    const { running, open, processor } = gate()
    const process = locked(processor, { locks, name, delayMs: 50 })
    rig.worker(process)
    const first = await queue.add('first', { resource: 'a' })
    await eventually(() => running.length === 1)
    const second = await queue.add('second', { resource: 'a' })
    await queue.add('third', { resource: 'b' })
    rig.worker(process)
    // One job at a time in each worker: the second has to be out of the way for the third.
    await eventually(() => running.length === 2)
    expect(running).toEqual(['first', 'third'])
    // Its delay may be over by now: then it waits for a worker.
    expect(['delayed', 'waiting']).toContain(await second.getState())
    expect((await refreshed(second)).attemptsMade).toBe(0)
    open()
    const [one, two] = [await reaches(first, 'completed'), await reaches(second, 'completed')]
    expect([one.returnvalue, two.returnvalue]).toEqual(['first', 'second'])
    expect([one.attemptsMade, one.attemptsStarted]).toEqual([1, 1])
    expect(two.attemptsMade).toBe(1)
    expect(two.attemptsStarted).toBeGreaterThan(1)
    expect(two.stacktrace).toEqual([])
  })

  it('renews a lease of its own length: a job may take longer, and the lease is no longer than that', async () => {
    const leases: number[] = []
    const processor = async (_job: Job<Data>, _token: unknown, _signal: unknown, hold: LockHold) => {
      leases.push(await locks.getLock(hold.lockName).remainTimeToLive())
      await rises(() => hold.trustedForMs)
      return 'done'
    }
    rig.worker(locked(processor, { locks, name, leaseMs: 3_000, renew: true }))
    const job = await reaches(await queue.add('long', { resource: 'a' }), 'completed')
    expect([job.returnvalue, leases.length]).toEqual(['done', 1])
    expect(leases[0]).toBeLessThanOrEqual(3_000)
  })

  it('asks delayMs for each conflict, with the job', async () => {
    const starts: number[] = []
    const delayMs = ({ attemptsStarted }: Job): number => {
      starts.push(attemptsStarted)
      return starts.length < 3 ? 20 : 60_000
    }
    const { open } = await busy({ delayMs })
    const second = await queue.add('second', { resource: 'a' })
    await eventually(() => starts.length === 3)
    expect(starts).toEqual([1, 2, 3])
    expect((await reaches(second, 'delayed')).delay).toBeGreaterThan(50_000)
    open()
  })

  it('lets a job wait a little before it is delayed', async () => {
    const { open } = await busy({ waitMs: 20_000, delayMs: 60_000 })
    const waiting = signalled()
    locks.on('waiting', () => waiting.resolve())
    const second = await queue.add('second', { resource: 'a' })
    await waiting.promise
    open()
    expect((await reaches(second, 'completed')).attemptsStarted).toBe(1)
  })

  it('lets it wait in the worker; those of one client in the order in which they were started', async () => {
    const { running, open, processor } = gate()
    rig.worker(locked(processor, { locks, name, onConflict: 'wait' }), { concurrency: 5 })
    const names = ['1', '2', '3', '4', '5']
    const jobs: Job[] = []
    for (const each of names) {
      jobs.push(await queue.add(each, { resource: 'a' }))
    }
    await eventually(async () => running.length > 0 && (await queue.getActiveCount()) === 5)
    expect(running).toEqual(['1'])
    open()
    const done = await Promise.all(jobs.map((job) => reaches(job, 'completed')))
    expect(running).toEqual(names)
    expect(done.map(({ attemptsStarted }) => attemptsStarted)).toEqual([1, 1, 1, 1, 1])
  })

  it('keeps a job that waits longer than its lock in the queue lives', async () => {
    const often = { lockDuration: 2_000, lockRenewTime: 500, stalledInterval: 100, maxStalledCount: 0 }
    const { open, worker } = await busy({ onConflict: 'wait' }, often)
    const renewals: string[] = []
    worker.on('locksRenewed', ({ jobIds }) => void renewals.push(...jobIds))
    const second = await queue.add('second', { resource: 'a' })
    await eventually(() => renewals.filter((id) => id === second.id).length >= 9)
    open()
    expect((await reaches(second, 'completed')).attemptsStarted).toBe(1)
  })

  it.each([
    ['fail', 0],
    ['wait', 500],
  ] as const)(
    'fails it with LOCK_TIMEOUT: %s, for %i ms; its own attempts say what follows',
    async (onConflict, waitMs) => {
      const { open, worker } = await busy({ onConflict, waitMs })
      const failures: unknown[] = []
      worker.on('failed', (_job, error) => void failures.push(error))
      const second = await queue.add('second', { resource: 'a' }, { attempts: 2 })
      const failed = await reaches(second, 'failed')
      expect(failures).toEqual([1, 2].map(() => expect.objectContaining({ code: 'LOCK_TIMEOUT' })))
      expect(failed.attemptsMade).toBe(2)
      expect(failed.failedReason).toMatch(/^Lock ".*:a" not acquired in \d+ ms: .* (has held|holds) it/)
      open()
    },
  )

  it('fails it with LOCK_BUSY at once, where it would wait in the worker behind as many as maxWaiting', async () => {
    const { open, worker } = await busy({ onConflict: 'fail', waitMs: 60_000, maxWaiting: 0 })
    const failures: unknown[] = []
    worker.on('failed', (_job, error) => void failures.push(error))
    await reaches(await queue.add('second', { resource: 'a' }), 'failed')
    expect(failures).toEqual([expect.objectContaining({ code: 'LOCK_BUSY', waiting: 0, maxWaiting: 0 })])
    open()
  })

  it("is the worker's signal and the hold's in one: cancelled, it aborts (I1)", async () => {
    const seen = signalled<unknown>()
    const worker = rig.worker(
      locked(
        (job: Job<Data>, _token, signal) =>
          new Promise<string>((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              seen.resolve(signal.reason)
              reject(new Error(`${job.name} has stopped`))
            })
            worker.cancelJob(job.id!, 'enough')
          }),
        { locks, name },
      ),
    )
    const job = await queue.add('first', { resource: 'a' })
    expect(await seen.promise).toBe('enough')
    expect((await reaches(job, 'failed')).failedReason).toBe('first has stopped')
  })

  it('cancelled while it waits, it fails and leaves the line (I8)', async () => {
    const { running, open, worker } = await busy({ onConflict: 'wait' })
    const waiting = signalled()
    locks.on('waiting', () => waiting.resolve())
    const second = await queue.add('second', { resource: 'a' })
    await waiting.promise
    worker.cancelJob(second.id!, 'enough')
    const failed = await reaches(second, 'failed')
    expect(failed.failedReason).toBe(`Job ${String(second.id)} was cancelled while it waited: enough`)
    open()
    await eventually(async () => !(await locks.getLock(harness.name('a')).isLocked()))
    expect(running).toEqual(['first'])
  })

  it('fails the job when its resource is lost in the middle, although the processor returns a result (I1)', async () => {
    const started = signalled()
    const told = signalled<unknown>()
    const process = async (_job: Job<Data>, _token: unknown, signal: AbortSignal): Promise<string> => {
      started.resolve()
      await aborted(signal)
      told.resolve(signal.reason)
      return 'done all the same'
    }
    rig.worker(locked(process, { locks, name }))
    locks.on('lost', () => undefined)
    const job = await queue.add('first', { resource: 'a' })
    await started.promise
    await locks.getLock(harness.name('a')).forceUnlock()
    expect(await told.promise).toMatchObject({ code: 'LOCK_LOST' })
    const failed = await reaches(job, 'failed')
    expect(failed.failedReason).toMatch(/^Lock ".*" was lost/)
    expect(failed.returnvalue).toBeNull()
  })

  it.each(['delay', 'wait', 'fail'] as const)(
    'puts back what has not begun when its client closes (onConflict: %s): no attempt is used up',
    async (onConflict) => {
      const own = await rig.client()
      const { running, open, processor } = gate()
      const closing = rig.worker(locked(processor, { locks: own, name, onConflict }), { concurrency: 2 })
      await queue.add('first', { resource: 'a' })
      await eventually(() => running.length === 1)
      // Waits in the worker, with 'wait'.
      const others = await queue.addBulk(
        ['a', 'b', 'c'].map((resource) => ({ name: 'other', data: { resource } })),
      )
      const closed = own.close()
      const seen = await Promise.all(others.map((job) => reaches(job, 'delayed')))
      expect(seen.map(({ attemptsMade, failedReason }) => [attemptsMade, failedReason])).toEqual(
        Array(3).fill([0, undefined]),
      )
      open()
      await Promise.all([closed, closing.close()])
      rig.worker(locked(processor, { locks: await rig.client(), name }))
      await Promise.all(others.map((job) => reaches(job, 'completed')))
      expect(await queue.getFailedCount()).toBe(0)
    },
  )

  it('inherits nothing of the request in which its worker was made: another client, and a lock by object', async () => {
    const [requests, ended] = [await rig.client(), new AbortController()]
    const processor = (): Promise<string> => requests.getLock(harness.name('inner')).withLock(() => 'done')
    const lock = (job: Job<Data>): Pick<AnyLock, 'withLock'> => locks.getLock(name(job))
    const inRequest = (): void => {
      rig.worker(locked(processor, { locks, name }))
      rig.worker(locked(processor, { lock, onConflict: 'wait' }))
    }
    locks.run(() => requests.run(inRequest, { signal: ended.signal }), { signal: ended.signal })
    ended.abort(new Error('the client of the request has gone'))
    const job = (): { name: string; data: Data } => ({ name: 'job', data: { resource: 'a' } })
    const jobs = await queue.addBulk(Array.from({ length: 6 }, job))
    await Promise.all(jobs.map((each) => reaches(each, 'completed')))
  })

  it('takes several resources, in any order and also one twice', async () => {
    const running = new Set<string>()
    const together: string[][] = []
    const process = async ({ data }: Job<Data>): Promise<void> => {
      running.add(data.resource)
      together.push([...running])
      await new Promise((resolve) => setTimeout(resolve, 2))
      running.delete(data.resource)
    }
    const all = (job: Job<Data>): string[] => job.data.resource.split('+').map((each) => harness.name(each))
    rig.worker(locked(process, { locks, name: all, delayMs: 10 }), { concurrency: 4 })
    const resources = ['a+b', 'b+a', 'c+c', 'a', 'b+c', 'c']
    const jobs = await Promise.all(resources.map((resource) => queue.add('job', { resource })))
    await Promise.all(jobs.map((job) => reaches(job, 'completed')))
    const sharing = together.filter((set) => {
      const parts = set.flatMap((resource) => [...new Set(resource.split('+'))])
      return new Set(parts).size < parts.length
    })
    expect(sharing).toEqual([])
  })

  it('takes a lock of any kind: the hold of a fenced lock has its token', async () => {
    const tokens: bigint[] = []
    const process = locked(
      (_job: Job<Data>, _token, _signal, hold) => {
        tokens.push(BigInt(hold.token))
        return Promise.resolve()
      },
      { lock: (job: Job<Data>) => locks.getFencedLock(name(job)), onConflict: 'wait' },
    )
    rig.worker(process, { concurrency: 3 })
    const jobs = await Promise.all([1, 2, 3].map(() => queue.add('job', { resource: 'a' })))
    await Promise.all(jobs.map((job) => reaches(job, 'completed')))
    expect(tokens.map((token) => token - tokens[0]!)).toEqual([0n, 1n, 2n])
    await locks.getFencedLock(harness.name('a')).forceUnlock()
    await harness.admin.del(`redisson_lock_token:{${harness.name('a')}}`)
  })

  it('leaves the errors of the processor alone, also those of other locks', async () => {
    const other = await locks.getLock(harness.name('other')).acquire()
    const process = locked(() => locks.getLock(harness.name('other')).acquire({ waitMs: 0 }), { locks, name })
    rig.worker(process)
    const job = await queue.add('first', { resource: 'a' })
    expect((await reaches(job, 'failed')).failedReason).toContain(`Lock "${other.lockName}" not acquired`)
    await other.release()
  })

  it('is one logical thread inside: what it calls re-enters', async () => {
    const process = locked((job: Job<Data>) => locks.getLock(name(job)).withLock(({ count }) => count), {
      ...{ locks, name },
    })
    rig.worker(process)
    const job = await queue.add('first', { resource: 'a' })
    expect((await reaches(job, 'completed')).returnvalue).toBe(2)
  })

  it.each([[[]], [''], [undefined], [null], [7]])('fails a job whose name is %p', async (wrong) => {
    const process = locked(() => Promise.resolve(), { locks, name: () => wrong as string })
    rig.worker(process)
    const job = await queue.add('first', { resource: 'a' })
    expect((await reaches(job, 'failed')).failedReason).toMatch(/must be|at least one/)
  })
})
