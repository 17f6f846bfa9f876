import type { Job, Processor, Queue, Worker, WorkerOptions } from 'bullmq'
import * as bullmq6 from 'bullmq'
import { LockClient } from '@holdfast/core'
import { eventually, type Rig, useRig } from '../../../../core/test/redis/support/rig.js'
import { afterEach } from '@jest/globals'

export type Bull = Pick<typeof bullmq6, 'Queue' | 'Worker'>

export interface Data {
  readonly resource: string
}

/** Queues and workers of one test, on one major version of BullMQ; all are gone after it. */
export class QueueRig {
  private readonly queues: Queue[] = []
  private readonly workers: Worker[] = []
  private readonly ends: (() => void)[] = []
  private readonly clients: LockClient[] = []

  constructor(
    readonly harness: Rig,
    private readonly bull: Bull,
  ) {}

  async client(): Promise<LockClient> {
    const locks = await LockClient.connect(this.harness.connection())
    this.clients.push(locks)
    return locks
  }

  queue(): Queue<Data> {
    const queue = new this.bull.Queue<Data>('jobs', this.options())
    this.queues.push(queue)
    return queue
  }

  worker<R>(processor: Processor<Data, R>, options: Partial<WorkerOptions> = {}): Worker<Data, R> {
    const worker = new this.bull.Worker<Data, R>('jobs', processor, { ...this.options(), ...options })
    this.workers.push(worker)
    worker.on('error', () => undefined)
    return worker
  }

  private options(): WorkerOptions {
    const { hostname: host, port } = new URL(this.harness.url)
    const connection = { host, port: Number(port), maxRetriesPerRequest: null }
    return { connection, prefix: this.harness.name('bull'), drainDelay: 1 }
  }

  /** Lets its jobs come to an end, where the test did not. */
  atEnd(end: () => void): void {
    this.ends.push(end)
  }

  async finish(): Promise<void> {
    this.ends.splice(0).forEach((end) => end())
    await Promise.all(this.workers.splice(0).map((worker) => worker.close()))
    for (const queue of this.queues.splice(0)) {
      await queue.obliterate({ force: true })
      await queue.close()
    }
    await Promise.all(this.clients.splice(0).map((locks) => locks.close({ graceMs: 0 })))
  }
}

/** For the top of a describe block. */
export function useQueues(bull: Bull): QueueRig {
  // Hooks run in the order in which they were registered: the harness has to find nothing of the queues.
  afterEach(() => rig.finish())
  const rig = new QueueRig(useRig({ redis: 'all' }), bull)
  return rig
}

/** Resolves when the job has come to this state. */
export async function reaches(job: Job, state: string, withinMs = 20_000): Promise<Job> {
  await eventually(async () => (await job.getState()) === state, withinMs)
  return refreshed(job)
}

/** The job, read from Redis anew. */
export async function refreshed(job: Job): Promise<Job> {
  const { queue } = job as unknown as { queue: Queue }
  return (await queue.getJob(job.id!)) as Job
}
