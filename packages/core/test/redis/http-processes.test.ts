import { afterEach, describe, expect, it } from '@jest/globals'
import { WorkerProcess } from '@holdfast/faults/harness'
import { fileURLToPath } from 'node:url'
import { redisUrl, useHarness } from './support/harness.js'

const WORKER = fileURLToPath(new URL('workers/web.worker.mjs', import.meta.url))
const FRAMEWORKS = ['express', 'fastify', 'koa', 'hono']
const REQUESTS = 200

describe('services in several processes', () => {
  const harness = useHarness()
  const workers: WorkerProcess[] = []
  afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.kill())))

  it('800 requests of four frameworks, a process each, are all counted under one lock (I1)', async () => {
    const counter = harness.name('counter')
    const ports = await Promise.all(
      FRAMEWORKS.map(async (framework) => {
        const worker = await WorkerProcess.start(WORKER, { env: { HOLDFAST_TEST_WORKER_REDIS: redisUrl } })
        workers.push(worker)
        return (await worker.call('open', framework, counter)) as number
      }),
    )
    const requests = ports.flatMap((port) => Array.from({ length: REQUESTS }, () => port))
    const statuses = await Promise.all(
      requests.map(async (port) => (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST' })).status),
    )
    expect(statuses.filter((status) => status !== 200)).toEqual([])
    expect(await harness.admin.get(counter)).toBe(String(FRAMEWORKS.length * REQUESTS))
    await harness.admin.del(counter)
    await Promise.all(workers.map((worker) => worker.call('close')))
  }, 120_000)
})
