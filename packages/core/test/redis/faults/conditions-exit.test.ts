import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { WorkerProcess } from '@holdfast/faults/harness'
import { waitBehind } from '../support/outcomes.js'
import { eventually, soon, useRig } from '../support/rig.js'

const LEASE_MS = 60_000
const names = Array.from({ length: 20 }, (_, i) => `order:${i}`)

describe('a process that ends', () => {
  const rig = useRig()
  let service: WorkerProcess

  beforeEach(async () => {
    service = await WorkerProcess.start(new URL('../workers/service.worker.mjs', import.meta.url))
    await service.call('open', rig.server.url, { lockWatchdogTimeout: LEASE_MS })
  })

  afterEach(() => service.kill())

  it('on SIGTERM, which calls close(): releases everything, long before the leases end (I5)', async () => {
    await service.call('hold', names)
    const others = await rig.client({ resyncInterval: 20_000 })
    const { waiting } = await waitBehind(rig, names[7]!, () => others.getLock(names[7]!).acquire())
    expect(await service.stop()).toEqual({ code: 0, signal: null })
    const next = await soon(waiting)
    expect(await rig.keysLeft()).toEqual([names[7]])
    await next.release()
  })

  it('on SIGTERM, while it waits: the wait ends, and leaves nothing (I5, I8)', async () => {
    const holder = await (await rig.client()).getLock(names[0]!).acquire()
    const wait = service.call('wait', names[0])
    expect(await service.once('waiting')).toBe(names[0])
    const ended = service.stop()
    expect(await soon(wait)).toBe('CLIENT_CLOSED')
    expect(await ended).toEqual({ code: 0, signal: null })
    await eventually(async () => (await rig.admin.pubsub('CHANNELS', 'redisson*')).length === 0)
    await holder.verify()
    expect(await holder.release()).toBe('released')
  })

  it('on SIGKILL: the lock stays for what is left of its lease, and not longer (I1)', async () => {
    await service.call('hold', names.slice(0, 1))
    const others = await rig.client({ resyncInterval: 200 })
    const waiting = others.getLock(names[0]!).acquire()
    await service.kill()
    // The rest of a lease of a minute, without the minute. It is there to be shortened.
    const leaseEndsAt = performance.now() + 1_500
    expect(await rig.admin.pexpire(names[0]!, 1_500)).toBe(1)
    const next = await soon(waiting)
    expect(performance.now()).toBeGreaterThan(leaseEndsAt)
    expect(await next.release()).toBe('released')
  })
})
