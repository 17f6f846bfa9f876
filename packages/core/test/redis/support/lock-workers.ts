import { afterEach } from '@jest/globals'
import { WorkerProcess } from '@holdfast/faults/harness'
import { carrierPackage } from './carrier.js'
import { redisUrl } from './rig.js'

export type StartLockWorker = (env?: Record<string, string>) => Promise<WorkerProcess>

/** Processes with a client each, that end with their test. */
export class LockWorkers {
  private readonly running: WorkerProcess[] = []

  readonly start: StartLockWorker = async (env = {}) => {
    const module = new URL('../workers/lock-worker.mjs', import.meta.url)
    const worker = await WorkerProcess.start(module, {
      env: { HOLDFAST_TEST_WORKER_REDIS: redisUrl, HOLDFAST_TEST_CARRIER: carrierPackage, ...env },
    })
    this.running.push(worker)
    return worker
  }

  async finish(): Promise<void> {
    await Promise.all(this.running.splice(0).map((worker) => worker.kill()))
  }
}

/** To be called at the top of a describe block. */
export function useLockWorkers(): StartLockWorker {
  const workers = new LockWorkers()
  afterEach(() => workers.finish())
  return workers.start
}
