import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { WorkerProcess } from '@holdfast/faults/harness'
import { carrierPackage } from './support/carrier.js'
import { FairLine } from './support/fair-line.js'
import { eventually, sleep } from './support/harness.js'
import { soon, useRig } from './support/rig.js'

const HEARTBEAT_MS = 500
const NAME = 'order:42'
const SERVED = 'served'

describe('one line of several processes', () => {
  const rig = useRig()
  let workers: WorkerProcess[] = []
  let line: FairLine

  beforeEach(() => {
    line = new FairLine(rig.admin, NAME)
  })

  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.kill()))
    workers = []
  })

  const start = async (): Promise<WorkerProcess> => {
    const worker = await WorkerProcess.start(new URL('./workers/fair-worker.mjs', import.meta.url), {
      env: {
        HOLDFAST_TEST_WORKER_REDIS: rig.server.url,
        HOLDFAST_TEST_CARRIER: carrierPackage,
        HOLDFAST_TEST_RESYNC: `${HEARTBEAT_MS}`,
      },
    })
    workers.push(worker)
    return worker
  }
  const stand = async (worker: WorkerProcess, label: string): Promise<void> => {
    const before = await line.length()
    await worker.call('stand', NAME, label, SERVED)
    await eventually(async () => (await line.length()) === before + 1)
  }
  /** Who had a turn, in order; the note is taken off. */
  const served = async (): Promise<string[]> => {
    const labels = await rig.admin.lrange(SERVED, 0, -1)
    await rig.admin.del(SERVED)
    return labels
  }

  it('processes killed at the head of the line delay the next by two heartbeats at most, all together (I10)', async () => {
    const [next, ...dead] = (await Promise.all([start(), start(), start()])) as [
      WorkerProcess,
      ...WorkerProcess[],
    ]
    const holder = await line.lockOf(await rig.client()).acquire()
    for (const [i, worker] of dead.entries()) {
      await stand(worker, `dead-${i}`)
    }
    await stand(next, 'next')
    await Promise.all(dead.map((worker) => worker.kill()))
    const killedAt = performance.now()
    await holder.release()
    await soon(next.call('done'))
    // The time beyond two heartbeats is room for a busy machine.
    expect(performance.now() - killedAt).toBeLessThan(2 * HEARTBEAT_MS + 1_500)
    expect(await served()).toEqual(['next'])
    await next.call('close')
  })

  it('a process that stood still past two heartbeats comes back to its place, ahead of who came later (I10)', async () => {
    const [paused, other] = await Promise.all([start(), start()])
    const holder = await line.lockOf(await rig.client()).acquire()
    await stand(paused, 'first')
    await stand(other, 'second')
    await stand(paused, 'third')
    await stand(other, 'fourth')
    await paused.pause()
    await eventually(async () => (await line.length()) < 4)
    await sleep(HEARTBEAT_MS)
    paused.resume()
    await eventually(async () => (await line.length()) === 4)
    await stand(other, 'fifth')
    await holder.release()
    await soon(Promise.all([paused.call('done'), other.call('done')]))
    expect(await served()).toEqual(['first', 'second', 'third', 'fourth', 'fifth'])
    await Promise.all([paused, other].map((worker) => worker.call('close')))
  })

  it('a process that stands still at the head delays the next no longer, and is served when it goes on', async () => {
    const [paused, other] = await Promise.all([start(), start()])
    const holder = await line.lockOf(await rig.client()).acquire()
    await stand(paused, 'paused')
    await stand(other, 'other')
    await paused.pause()
    const pausedAt = performance.now()
    await holder.release()
    await soon(other.call('done'))
    expect(performance.now() - pausedAt).toBeLessThan(2 * HEARTBEAT_MS + 1_500)
    paused.resume()
    await soon(paused.call('done'))
    expect(await served()).toEqual(['other', 'paused'])
    await Promise.all([paused, other].map((worker) => worker.call('close')))
  })
})
