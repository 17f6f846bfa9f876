import { describe, expect, it } from '@jest/globals'
import { FaultProxy } from '@holdfast/faults/harness'
import { eventually, redisUrl, useRig } from '../support/rig.js'
import { useLockWorkers } from '../support/lock-workers.js'

describe('several processes', () => {
  const rig = useRig({ redis: 'all' })
  const start = useLockWorkers()

  it('a holder stopped past its lease knows that it lost it before it looks at anything (I1, I3)', async () => {
    const [holder, next] = await Promise.all([start({ HOLDFAST_TEST_WATCHDOG: '900' }), start()])
    const first = (await holder.call('acquire', rig.name())) as string
    await holder.pause()
    const second = (await next.call('acquire', rig.name())) as string
    holder.resume()
    expect(await holder.call('look', rig.name())).toEqual({ trusted: 0, ensured: false, aborted: true })
    expect(await holder.call('release', rig.name())).toBe('lost')
    expect(second).not.toBe(first)
    expect(await rig.admin.hgetall(rig.name())).toEqual({ [second]: '1' })
    await next.call('release', rig.name())
    await Promise.all([holder, next].map((worker) => worker.call('close')))
  })

  it('calls whose answers come while their process stands still resume nobody who is not told (I3)', async () => {
    const { hostname, port } = new URL(redisUrl)
    const proxy = await FaultProxy.start({ host: hostname, port: Number(port || 6379) })
    const [holder, next] = await Promise.all([
      start({ HOLDFAST_TEST_WATCHDOG: '900', HOLDFAST_TEST_WORKER_REDIS: proxy.url }),
      start(),
    ])
    await holder.call('acquire', rig.name())
    proxy.blackHole()
    const asked = holder.call('ask', rig.name(), rig.name('other'))
    await holder.once('asked')
    await holder.pause()
    // Redis says yes to all of it, and nobody is there to hear it before somebody else has the lock.
    proxy.pass()
    await next.call('acquire', rig.name())
    holder.resume()
    expect(await asked).toEqual({
      verify: { outcome: 'LOCK_LOST', aborted: true },
      extend: { outcome: 'LOCK_LOST', aborted: true },
      another: { outcome: 'resolved', aborted: true },
    })
    await next.call('release', rig.name())
    await Promise.all([holder, next].map((worker) => worker.call('close')))
    await proxy.stop()
  })

  it('an event loop blocked past the lease: whatever the hold is asked first, its signal has aborted (I3)', async () => {
    const holder = await start({ HOLDFAST_TEST_WATCHDOG: '300' })
    for (const question of ['signal', 'lossError', 'trustedForMs', 'ensure']) {
      const name = rig.name(question)
      await holder.call('acquire', name)
      const seen: unknown = await holder.call('block', name, 400, question)
      expect([question, seen]).toEqual([question, { aborted: true, ensured: false, trusted: 0 }])
      expect(await holder.call('release', name)).toBe('lost')
      await eventually(async () => (await rig.admin.exists(name)) === 0)
    }
    await holder.call('close')
  })
})
