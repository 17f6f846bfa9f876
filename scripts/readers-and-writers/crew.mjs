import { join } from 'node:path'
import { WorkerProcess } from '@holdfast/testing'
import { nowMs } from '../shared-clock.mjs'

const WORKER = new URL('./worker.mjs', import.meta.url)
const PROGRESS_MS = 5_000

/** The worker processes, and what Redis did for them. */
export class Crew {
  files = []
  #workers = []
  #redis
  #settings

  constructor(redis, settings) {
    this.#redis = redis
    this.#settings = settings
  }

  async start() {
    const { processes, callers, seed, folder, readersStandBack } = this.#settings
    for (let i = 0; i < processes; i += 1) {
      const worker = await WorkerProcess.start(WORKER)
      this.#workers.push(worker)
      const [name, file] = [`worker-${i}`, join(folder, `worker-${i}.jsonl`)]
      this.files.push(file)
      const { port } = this.#redis
      await worker.call('begin', { name, port, file, callers, readersStandBack, seed: seed * 1_000 + i })
    }
  }

  /** Everybody reads and writes. @returns what it cost */
  mixed() {
    const shares = this.#shares(this.#settings.operations, this.#workers.length)
    return this.#measured('reads and writes', () =>
      Promise.all(this.#workers.map((worker, i) => worker.call('mixed', shares[i]))),
    )
  }

  /** All read without a pause, and one process writes in between for as long as they do. @returns what it cost */
  stream() {
    const [writer, ...readers] = this.#workers
    const reading = readers.length > 0 ? readers : [writer]
    const shares = this.#shares(Math.ceil(this.#settings.operations / 2), reading.length)
    return this.#measured('a stream of reads', async () => {
      const writing = writer.call('write')
      await Promise.all(reading.map((worker, i) => worker.call('read', shares[i])))
      await writer.call('enough')
      await writing
    })
  }

  /** Lets every client close. */
  async finish() {
    await Promise.all(this.#workers.map((worker) => worker.call('finish')))
  }

  /** Whatever state it is in. */
  async stop() {
    await Promise.all(this.#workers.map((worker) => worker.kill()))
  }

  #shares(count, parts) {
    return Array.from({ length: parts }, (_, i) => Math.floor((count + i) / parts))
  }

  /** @returns {Promise<{ fromMs: number, operations: number, scripts: number, seconds: number }>} */
  async #measured(what, go) {
    const [scripts, operations] = [await this.#scripts(), await this.#operations()]
    const [fromMs, startedAt] = [nowMs(), performance.now()]
    const progress = globalThis.setInterval(() => void this.#tell(what, startedAt), PROGRESS_MS)
    try {
      await Promise.race([go(), this.#interruption()])
    } finally {
      globalThis.clearInterval(progress)
    }
    return {
      fromMs,
      operations: (await this.#operations()) - operations,
      scripts: (await this.#scripts()) - scripts,
      seconds: (performance.now() - startedAt) / 1_000,
    }
  }

  #interruption() {
    const { interrupted } = this.#settings
    return new Promise((_, reject) => {
      const end = () => reject(interrupted.reason)
      if (interrupted.aborted) end()
      else interrupted.addEventListener('abort', end, { once: true })
    })
  }

  async #tell(what, startedAt) {
    const { log } = this.#settings
    try {
      const done = await this.#operations()
      log(`${Math.round((performance.now() - startedAt) / 1_000)} s  ${what}: ${done} operations`)
    } catch {
      // It is being ended.
    }
  }

  async #operations() {
    const counts = await Promise.all(this.#workers.map((worker) => worker.call('progress')))
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** How many scripts Redis has run. */
  async #scripts() {
    const stats = String(await this.#redis.command('INFO', 'commandstats'))
    const calls = [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)]
    return calls.reduce((sum, [, count]) => sum + Number(count), 0)
  }
}
