import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { STEP_LIMIT_MS } from './settings.mjs'
import { within } from './time.mjs'

const WORKER = fileURLToPath(new URL('./worker.mjs', import.meta.url))

/** One process of the demo, seen from the demo. */
class Worker {
  #child
  #calls = new Map()
  #firsts = new Map()
  #listeners = new Map()
  #lastCall = 0
  #stderr = ''

  constructor(child, name) {
    this.#child = child
    this.name = name
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }))
      child.once('error', (error) => resolve({ code: error.message, signal: null }))
    })
    child.stderr.on('data', (chunk) => (this.#stderr = (this.#stderr + String(chunk)).slice(-4_096)))
    child.on('message', (message) => this.#receive(message))
    this.exited.then(({ code, signal }) => this.#end(code, signal))
  }

  get pid() {
    return this.#child.pid
  }

  /** Runs a task of tasks.mjs there; rejects when it throws or when the process ends first. */
  call(task, args) {
    const answer = new Promise((resolve, reject) => {
      this.#lastCall += 1
      this.#calls.set(this.#lastCall, { resolve, reject })
      // The end of a process is told by 'exit', and says more than a channel that is closed.
      this.#child.send({ id: this.#lastCall, task, args }, () => undefined)
    })
    // Whoever awaits it gets the rejection; an act that failed before does not come to that.
    answer.catch(() => undefined)
    return answer
  }

  /** The data of the first such event, whether it came already or not. */
  first(event) {
    return this.#first(event).promise
  }

  on(event, listener) {
    this.#listeners.set(event, listener)
  }

  kill() {
    this.#child.kill('SIGKILL')
  }

  /** Lets it close its connections; it is gone when this resolves. */
  async end() {
    await within(this.call('close'), STEP_LIMIT_MS, `end of ${this.name}`)
    this.#child.disconnect()
    await this.exited
  }

  #first(event) {
    let first = this.#firsts.get(event)
    if (!first) {
      first = {}
      first.promise = new Promise((resolve, reject) => Object.assign(first, { resolve, reject }))
      // The same race as in `call`.
      first.promise.catch(() => undefined)
      this.#firsts.set(event, first)
    }
    return first
  }

  #receive({ id, event, data, value, error }) {
    if (event !== undefined) {
      this.#first(event).resolve(data)
      this.#listeners.get(event)?.(data)
      return
    }
    const call = this.#calls.get(id)
    this.#calls.delete(id)
    if (error === undefined) call.resolve(value)
    else call.reject(new Error(`${this.name}: ${error}`))
  }

  #end(code, signal) {
    const why = this.#stderr.trim()
    const error = new Error(`${this.name} has ended (${signal ?? `code ${code}`})${why && `\n${why}`}`)
    for (const { reject } of this.#calls.values()) reject(error)
    for (const { reject } of this.#firsts.values()) reject(error)
  }
}

/** All processes of the demo. None outlives it: see `stop`, and 'disconnect' in worker.mjs. */
export class Crew {
  #redisUrl
  #workers = new Set()
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
    await Promise.all(
      [...this.#workers].map((worker) => {
        worker.kill()
        return worker.exited
      }),
    )
  }

  async #start(name, leaseMs) {
    if (this.#stopped) throw new Error('the demo has ended')
    const child = fork(WORKER, [name, String(leaseMs)], {
      // In the environment, because anybody may read the arguments and the URL may hold a password.
      env: { ...process.env, HOLDFAST_DEMO_REDIS_URL: this.#redisUrl },
      // A debugger's port of this process is not free for another one.
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    const worker = new Worker(child, name)
    this.#workers.add(worker)
    worker.exited.then(() => this.#workers.delete(worker))
    await within(worker.first('ready'), STEP_LIMIT_MS, `start of ${name}`)
    return worker
  }
}
