import { afterEach } from '@jest/globals'
import { WorkerProcess } from '@holdfast/faults/harness'
import { carrierPackage } from './carrier.js'
import { redisUrl } from './harness.js'

/** Starts processes with a client each, and ends them after the test. To be called at the top of a describe block. */
export function useLockWorkers(): (env?: Record<string, string>) => Promise<WorkerProcess> {
  let workers: WorkerProcess[] = []
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.kill()))
    workers = []
  })
  return async (env = {}) => {
    const module = new URL('../workers/lock-worker.mjs', import.meta.url)
    const worker = await WorkerProcess.start(module, {
      env: { HOLDFAST_TEST_WORKER_REDIS: redisUrl, HOLDFAST_TEST_CARRIER: carrierPackage, ...env },
    })
    workers.push(worker)
    return worker
  }
}
