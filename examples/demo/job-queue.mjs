import { Queue } from 'bullmq'
import { QUEUE } from './queue-tasks.mjs'
import { STEP_LIMIT_MS } from './settings.mjs'
import { within } from './time.mjs'

/** One queue of the demo with its jobs, and processes that work on it. */
export class JobQueue {
  #queue
  #workers
  #jobs = []

  /** @param {import('ioredis').Redis} redis @param {string} prefix */
  constructor(redis, prefix) {
    this.prefix = prefix
    this.#queue = new Queue(QUEUE, { connection: redis, prefix })
  }

  async workers(workers, options) {
    this.#workers = workers
    await Promise.all(workers.map((worker) => worker.call('workOn', { prefix: this.prefix, ...options })))
  }

  async add(name, data) {
    this.#jobs.push(await this.#queue.add(name, data))
  }

  /** All jobs as the queue has them, when none is left to do. In the order of their ends. */
  async done() {
    const all = (async () => {
      for (;;) {
        const { completed, failed } = await this.#queue.getJobCounts('completed', 'failed')
        if (completed + failed === this.#jobs.length) return this.#queue.getJobs(['completed', 'failed'])
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    })()
    const jobs = await within(all, 2 * STEP_LIMIT_MS, 'end of the jobs')
    return jobs.sort((one, other) => one.returnvalue?.from - other.returnvalue?.from)
  }

  /** Resolves when the job has come to this state. */
  async until(index, state) {
    const reached = (async () => {
      while ((await this.#jobs[index].getState()) !== state) await new Promise((r) => setTimeout(r, 5))
    })()
    await within(reached, STEP_LIMIT_MS, `job that is ${state}`)
  }

  /** Keys of a queue have no end of their own. */
  async end() {
    await Promise.all(this.#workers.map((worker) => worker.call('stopWork')))
    await this.#queue.obliterate({ force: true })
    await this.#queue.close()
  }
}
