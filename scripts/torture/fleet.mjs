import { join } from 'node:path'
import { LockClient } from '@holdfast/core'
import { FaultProxy, WorkerProcess } from '@holdfast/faults/harness'

/** The worker processes, each on a wire of its own, and the files with what they saw. */
export class Fleet {
  workers = []
  files = []
  /** A client that no fault of a wire reaches. */
  observer
  #redis
  #settings

  constructor(redis, settings) {
    this.#redis = redis
    this.#settings = settings
  }

  async start(processes) {
    this.observer = await LockClient.connect(this.#redis.url, { clientName: 'observer', bareCalls: 'allow' })
    for (let i = 0; i < processes; i += 1) this.workers.push(await this.#launch())
  }

  /** SIGKILL, and another one in its place. */
  async replace(worker) {
    await worker.process.kill()
    this.#settings.history.add('killed', { process: worker.name })
    await worker.proxy.stop()
    this.workers = this.workers.filter((each) => each !== worker)
    this.workers.push(await this.#launch())
  }

  /** Its wire is again like all wires of this run. */
  heal({ proxy }) {
    const { delayMs, dropNth } = this.#settings
    proxy.pass()
    proxy.delay(delayMs)
    if (dropNth > 0) proxy.dropPushes(dropNth)
  }

  /** Lets every flow come to its end and every client close. */
  async finish() {
    await Promise.all(this.workers.map(({ process }) => process.call('finish')))
    await this.observer.close()
  }

  /** Whatever state it is in. */
  async stop() {
    await Promise.all(this.workers.map(({ process }) => process.kill()))
    await Promise.all(this.workers.map(({ proxy }) => proxy.stop()))
    await this.observer?.close({ graceMs: 0 })
  }

  async #launch() {
    const number = this.files.length
    const proxy = await FaultProxy.start(this.#redis)
    const file = join(this.#settings.folder, `worker-${number}.jsonl`)
    this.files.push(file)
    const { register, leaseMs, resyncMs, locks, flows, seed } = this.#settings
    const { module, more } = this.#settings
    const process = await WorkerProcess.start(module)
    const worker = { name: `worker-${number}`, process, proxy }
    this.heal(worker)
    // It connects through its wire, which may be broken at the moment: nobody waits for that.
    await process.call('begin', {
      name: worker.name,
      port: proxy.port,
      registerPort: register.port,
      file,
      leaseMs,
      resyncMs,
      locks,
      flows,
      seed: seed * 1_000 + number,
      ...more,
    })
    return worker
  }
}
