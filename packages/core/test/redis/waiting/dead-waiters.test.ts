import { expect } from '@jest/globals'
import { FaultProxy, type WorkerProcess } from '@holdfast/faults/harness'
import { acquireScript } from '../../../src/scripts/lock.js'
import { runsOf } from '../support/requests.js'
import { redisUrl, soon } from '../support/rig.js'
import { describe, it, useRig, useLockWorkers } from '../support/together.js'

// Longer than it takes a busy machine to end a process.
const LEASE_MS = 3_000

// A lock is granted to a waiter only while all who stand in the queue are connected, and for as long as that waiter's client was
// last heard of: a dead one delays nobody, a stopped one for two of its ticks, and one more of whoever is next.
describe('a waiting process', () => {
  const rig = useRig({ redis: 'all' })
  const start = useLockWorkers()

  it.each<[string, (worker: WorkerProcess) => Promise<unknown>, number]>([
    ['killed delays nobody', (worker) => worker.kill(), 60_000],
    ['stopped delays others for its life', (worker) => worker.pause(), 500],
  ])('a waiting process that was %s in another process (I4, I7)', async (_what, end, resyncInterval) => {
    const worker = await start()
    const [holding, waiting] = [await rig.client(), await rig.client({ resyncInterval })]
    const hold = await holding.getLock(rig.name()).acquire()
    const first = worker.call('acquire', rig.name()).catch(() => 'dead')
    await rig.heard(rig.name())
    const second = waiting.getLock(rig.name()).acquire()
    await rig.heard(rig.name(), 2)
    await end(worker)
    await hold.release()
    const next = await soon(second)
    expect(await next.release()).toBe('released')

    worker.resume()
    const owner = (await first) as string
    expect(await rig.admin.hgetall(rig.name())).toEqual(owner === 'dead' ? {} : { [owner]: '1' })
    if (owner !== 'dead') {
      expect(await worker.call('release', rig.name())).toBe('released')
    }
  })

  it('a waiting process that is killed before it hears that it got the lock keeps it for one lease, no longer', async () => {
    const { hostname, port } = new URL(redisUrl)
    const proxy = await FaultProxy.start({ host: hostname, port: Number(port || 6_379) })
    try {
      const worker = await start({
        HOLDFAST_TEST_WORKER_REDIS: proxy.url,
        HOLDFAST_TEST_WATCHDOG: `${LEASE_MS}`,
      })
      // Redis has the script by then: the reply that gets lost is that of the acquire, and not that there is no such script.
      await (await rig.client()).getLock(rig.name()).withLock(() => undefined)
      const fault = proxy.loseReply(runsOf(acquireScript))
      const granted = worker.call('acquire', rig.name()).catch(() => 'dead')
      await fault.happened
      const grantedAt = performance.now()
      proxy.refuse()
      await worker.kill()
      expect(await granted).toBe('dead')
      expect(await rig.admin.exists(rig.name())).toBe(1)
      const others = await rig.client({ resyncInterval: 60_000 })
      const next = await soon(others.getLock(rig.name()).acquire(), 2 * LEASE_MS)
      // Room for a busy machine.
      expect(performance.now() - grantedAt).toBeLessThan(2 * LEASE_MS)
      expect(await next.release()).toBe('released')
    } finally {
      await proxy.stop()
    }
  })
})
