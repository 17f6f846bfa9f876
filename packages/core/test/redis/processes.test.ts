import { afterEach, describe, expect, it } from '@jest/globals'
import { WorkerProcess } from '@holdfast/testing'
import { Redis } from 'ioredis'
import { eventually, redisUrl, useHarness } from './support/harness.js'

// The project's module map decides which ioredis a test sees; a worker has to be told. Only 6 knows RESP3.
const ioredis = 'protocol' in new Redis({ lazyConnect: true }).options ? 'ioredis' : 'ioredis5'

describe('several processes', () => {
  const harness = useHarness()
  let workers: WorkerProcess[] = []

  const start = async (env: Record<string, string> = {}): Promise<WorkerProcess> => {
    const module = new URL('./workers/lock-worker.mjs', import.meta.url)
    const worker = await WorkerProcess.start(module, {
      env: { HOLDFAST_TEST_WORKER_REDIS: redisUrl, HOLDFAST_TEST_IOREDIS: ioredis, ...env },
    })
    workers.push(worker)
    return worker
  }

  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.kill()))
    workers = []
  })

  it('10,000 guarded increments from four processes are all counted (I1)', async () => {
    const counter = harness.name('counter')
    const four = await Promise.all([start(), start(), start(), start()])
    await Promise.all(four.map((worker) => worker.call('increment', harness.name(), counter, 2_500)))
    expect(await harness.admin.get(counter)).toBe('10000')
    await harness.admin.del(counter)
    await Promise.all(four.map((worker) => worker.call('close')))
  })

  it('after a SIGKILL of the holder the next gets in within one lease', async () => {
    const [holder, next] = await Promise.all([start({ HOLDFAST_TEST_WATCHDOG: '1000' }), start()])
    await holder.call('acquire', harness.name())
    const waiting = next.call('acquire', harness.name())
    await holder.kill()
    const killedAt = performance.now()
    await waiting
    // The lease had at most 1,000 ms left; the rest is room for a loaded machine.
    expect(performance.now() - killedAt).toBeLessThan(3_000)
    await next.call('release', harness.name())
    await next.call('close')
  })

  it('a holder stopped past its lease knows that it lost it before it looks at anything (I1, I3)', async () => {
    const [holder, next] = await Promise.all([start({ HOLDFAST_TEST_WATCHDOG: '900' }), start()])
    const first = (await holder.call('acquire', harness.name())) as string
    await holder.pause()
    const second = (await next.call('acquire', harness.name())) as string
    holder.resume()
    expect(await holder.call('look', harness.name())).toEqual({ trusted: 0, ensured: false, aborted: true })
    expect(await holder.call('release', harness.name())).toBe('lost')
    expect(second).not.toBe(first)
    expect(await harness.admin.hgetall(harness.name())).toEqual({ [second]: '1' })
    await next.call('release', harness.name())
    await Promise.all([holder, next].map((worker) => worker.call('close')))
  })

  it('an event loop blocked past the lease cannot trust its hold any more (I3)', async () => {
    const holder = await start({ HOLDFAST_TEST_WATCHDOG: '600' })
    await holder.call('acquire', harness.name())
    expect(await holder.call('block', harness.name(), 900)).toEqual({ ensured: false, trusted: 0 })
    expect(await holder.call('release', harness.name())).toBe('lost')
    await eventually(async () => (await harness.admin.exists(harness.name())) === 0)
    await holder.call('close')
  })
})
