import { join } from 'node:path'
import { FaultProxy, WorkerProcess, type RedisServer } from '@holdfast/faults/harness'

const WORKER = new URL('./worker.js', import.meta.url)

/** One worker process, with the file of what it sees and, where it has one, a wire of its own to Redis. */
export interface Worker {
  readonly name: string
  readonly process: WorkerProcess
  readonly file: string
  readonly proxy: FaultProxy | undefined
}

/** The worker processes of one run. Each is started with a name and a history file that nobody else has. */
export class Fleet {
  readonly #scenario: string
  readonly #folder: string
  readonly #files: string[] = []
  readonly #cores: readonly (string | undefined)[]
  #workers: Worker[] = []

  /** @param cores modules that processes load for `@holdfast/core`, in turns; undefined: the one of this tree */
  constructor(scenario: string, folder: string, cores: readonly (string | undefined)[] = []) {
    this.#scenario = scenario
    this.#folder = folder
    this.#cores = cores
  }

  /** Those that live. */
  get workers(): readonly Worker[] {
    return this.#workers
  }

  /** The files of all that there ever were. */
  get files(): readonly string[] {
    return this.#files
  }

  /** Starts a process and calls its role `begin` with its name, its file and `settings`, and the port of its wire. */
  async launch(
    settings: Readonly<Record<string, unknown>>,
    { through, isolate }: { through?: RedisServer; isolate?: (worker: Worker) => void } = {},
  ): Promise<Worker> {
    const nth = this.#files.length
    const name = `worker-${nth}`
    const file = join(this.#folder, `${name}.jsonl`)
    this.#files.push(file)
    const proxy = through && (await FaultProxy.start(through))
    const process = await WorkerProcess.start(WORKER, {
      args: [this.#scenario, this.#cores[nth % this.#cores.length] ?? []].flat(),
    })
    const worker = { name, process, file, proxy }
    this.#workers.push(worker)
    isolate?.(worker)
    await process.call('begin', { name, file, ...(proxy && { port: proxy.port }), ...settings })
    return worker
  }

  /** SIGKILL. Its history stays. */
  async kill(worker: Worker): Promise<void> {
    this.#workers = this.#workers.filter((each) => each !== worker)
    await worker.process.kill()
    await worker.proxy?.stop()
  }

  /** The same role in all of them, at the same time. */
  async callAll<T = unknown>(role: string, ...args: unknown[]): Promise<T[]> {
    return Promise.all(this.#workers.map(async ({ process }) => (await process.call(role, ...args)) as T))
  }

  /** In whatever state they are. */
  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => this.kill(worker)))
  }
}
