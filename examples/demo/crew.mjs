import { WorkerProcess } from '@holdfast/faults/harness'
import { STEP_LIMIT_MS } from './settings.mjs'
import { within } from './time.mjs'

const WORKER = new URL('./worker.mjs', import.meta.url)

/** One process of the demo, seen from the demo. */
class Worker {
  #process

  constructor(process, name) {
    this.#process = process
    this.name = name
  }

  get pid() {
    return this.#process.pid
  }

  get exited() {
    return this.#process.exited
  }

  /** Runs a task of tasks.mjs there; rejects when it throws or when the process ends first. */
  call(task, args) {
    return awaitedOrNot(this.#process.call(task, args))
  }

  /** The data of the first such event, whether it came already or not. */
  first(event) {
    return awaitedOrNot(this.#process.once(event))
  }

  on(event, listener) {
    this.#process.on(event, listener)
  }

  kill() {
    return this.#process.kill()
  }

  /** Lets it close its connections; it is gone when this resolves. */
  async end() {
    await within(this.call('close'), STEP_LIMIT_MS, `end of ${this.name}`)
    await this.kill()
  }
}

/** Whoever awaits it gets the rejection; an act that failed before does not come to that. */
const awaitedOrNot = (promise) => {
  promise.catch(() => undefined)
  return promise
}

/** All processes of the demo. None outlives it: see `stop`, and the guardian of a `WorkerProcess`. */
export class Crew {
  #redisUrl
  #workers = []
  #stopped = false

  constructor(redisUrl) {
    this.#redisUrl = redisUrl
  }

  get redisUrl() {
    return this.#redisUrl
  }

  /**
   * @param {string[]} names
   * @param {{ leaseMs?: number }} [options]
   * @returns {Promise<Worker[]>} when all are connected
   */
  start(names, { leaseMs = 30_000 } = {}) {
    return Promise.all(names.map((name) => this.#start(name, leaseMs)))
  }

  /** Kills what is still there, and starts nothing any more. */
  async stop() {
    this.#stopped = true
    await Promise.all(this.#workers.map((worker) => worker.kill()))
  }

  async #start(name, leaseMs) {
    if (this.#stopped) throw new Error('the demo has ended')
    const started = WorkerProcess.start(WORKER, {
      args: [name, String(leaseMs)],
      // In the environment, because anybody may read the arguments and the URL may hold a password.
      env: { HOLDFAST_DEMO_REDIS_URL: this.#redisUrl },
    })
    const worker = new Worker(await within(started, STEP_LIMIT_MS, `start of ${name}`), name)
    this.#workers.push(worker)
    // An interruption came meanwhile.
    if (this.#stopped) await worker.kill()
    return worker
  }
}
