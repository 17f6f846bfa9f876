import { afterEach } from '@jest/globals'
import { WorkerProcess } from '@holdfast/testing'
import { Redis } from 'ioredis'
import { redisUrl } from './harness.js'

// The project's module map decides which ioredis a test sees; a worker has to be told. Only 6 knows RESP3.
const ioredis = 'protocol' in new Redis({ lazyConnect: true }).options ? 'ioredis' : 'ioredis5'

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
      env: { HOLDFAST_TEST_WORKER_REDIS: redisUrl, HOLDFAST_TEST_IOREDIS: ioredis, ...env },
    })
    workers.push(worker)
    return worker
  }
}
