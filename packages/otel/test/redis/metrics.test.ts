import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { LOCK_CHANNELS, type LockClient } from '../../../core/src/index.js'
import { eventually, useRig } from '../../../core/test/redis/support/rig.js'
import { Telemetry } from './support/telemetry.js'

describe.each(['api', 'producer'] as const)('metrics through the %s', (metrics) => {
  const harness = useRig({ redis: 'all' })
  let telemetry: Telemetry
  let locks: LockClient

  beforeEach(async () => {
    telemetry = new Telemetry({ metrics, lockName: (name) => name.replace(/^[^:]*:/, '') })
    locks = await harness.client()
    locks.on('lost', () => undefined)
  })
  afterEach(() => telemetry.stop())

  it('count calls by what came of them, and how', async () => {
    const lock = locks.getLock(harness.name('a'))
    const other = (await harness.client()).getLock(harness.name('a'))
    await locks.run(async () => {
      await lock.lock()
      await lock.lock()
      await lock.unlock()
      await lock.unlock()
    })
    const hold = await lock.acquire()
    expect(await other.tryAcquire()).toBeNull()
    await expect(other.acquire({ waitMs: 1_000 })).rejects.toThrow()
    const abort = new AbortController()
    const aborted = other.acquire({ signal: abort.signal })
    await eventually(async () => (await telemetry.sum('holdfast_lock_waiters', { name: 'a' })) === 1)
    abort.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
    await hold.release()
    const count = (labels: Record<string, string>): Promise<number> =>
      telemetry.sum('holdfast_lock_acquisitions_total', { name: 'a', ...labels })
    expect(await count({ outcome: 'acquired', path: 'remote' })).toBe(2)
    expect(await count({ outcome: 'acquired', path: 'reentrant' })).toBe(1)
    expect(await count({ outcome: 'timeout' })).toBe(2)
    expect(await count({ outcome: 'aborted' })).toBe(1)
    expect(await count({})).toBe(6)
    expect(await telemetry.sum('holdfast_lock_waiters')).toBe(0)
    expect(await telemetry.sum('holdfast_lock_wait_duration_count')).toBe(2)
    expect(await telemetry.sum('holdfast_lock_hold_duration_count')).toBe(2)
  })

  it('tell what is held and waited for now, and what a hand-off took', async () => {
    // A lease that is not over while the test waits.
    const lock = (await harness.client()).getLock(harness.name('a'))
    const other = (await harness.client()).getLock(harness.name('a'))
    // The try that follows the subscription may be the one that gets the lock: it came after no message.
    for (let i = 0; i < 10; i += 1) {
      const hold = await lock.acquire()
      const next = other.acquire()
      await eventually(async () => (await telemetry.sum('holdfast_lock_waiters')) === 1)
      expect(await telemetry.sum('holdfast_lock_held', { name: 'a', kind: 'reentrant' })).toBe(1)
      await eventually(
        async () => (await harness.admin.pubsub('CHANNELS', `*${harness.name('a')}*`)).length > 0,
      )
      await hold.release()
      await (await next).release()
    }
    expect(await telemetry.sum('holdfast_lock_waiters')).toBe(0)
    expect(await telemetry.sum('holdfast_lock_held')).toBe(0)
    const handOffs = await telemetry.sum('holdfast_lock_handoff_duration_count')
    const waits = await telemetry.sum('holdfast_lock_wait_duration_count')
    // Whoever has just released it may stand back, which is a wait too, before it takes the lock again.
    expect(waits).toBeGreaterThanOrEqual(10)
    expect(waits).toBeLessThanOrEqual(20)
    expect(handOffs).toBeGreaterThan(0)
    expect(handOffs).toBeLessThanOrEqual(waits)
    expect(await telemetry.sum('holdfast_lock_wait_duration_sum')).toBeLessThan(60)
  })

  it('count losses by reason, renewals by outcome, and the margin of each renewal', async () => {
    const renewing = await harness.client({ lockWatchdogTimeout: 3_000 })
    renewing.on('lost', () => undefined)
    const hold = await renewing.getLock(harness.name('a')).acquire()
    await eventually(async () => (await telemetry.sum('holdfast_lock_renewals_total')) > 0)
    await harness.admin.del(harness.name('a'))
    await eventually(() => hold.isLost)
    const forced = await locks.getLock(harness.name('b')).acquire()
    await locks.getLock(harness.name('b')).forceUnlock()
    await eventually(() => forced.isLost)
    const text = await telemetry.text()
    expect(text).toMatch(/holdfast_lock_losses_total\{[^}]*loss_reason="gone"[^}]*\} 1/)
    expect(text).toMatch(/holdfast_lock_losses_total\{[^}]*loss_reason="forced"[^}]*\} 1/)
    expect(await telemetry.sum('holdfast_lock_renewals_total', { outcome: 'lost' })).toBe(1)
    const renewals = await telemetry.sum('holdfast_lock_renewals_total')
    expect(await telemetry.sum('holdfast_lock_renewal_margin_count')).toBe(renewals)
    expect(await telemetry.sum('holdfast_lock_renewal_margin_sum')).toBeLessThan(3 * renewals)
  })

  it('leave out of what is held now whatever only somebody else saw begin', async () => {
    telemetry.instrumentation.disable()
    const stranger = (): void => undefined
    subscribe(LOCK_CHANNELS.holdEnded, stranger)
    const before = await locks.getLock(harness.name('a')).acquire()
    telemetry.instrumentation.enable()
    const earlier = await locks.getLock(harness.name('b')).acquire()
    await before.release()
    expect(await telemetry.sum('holdfast_lock_held')).toBe(1)
    telemetry.instrumentation.disable()
    telemetry.instrumentation.enable()
    const hold = await locks.getLock(harness.name('a')).acquire()
    await earlier.release()
    expect(await telemetry.sum('holdfast_lock_held')).toBe(1)
    await hold.release()
    expect(await telemetry.sum('holdfast_lock_held')).toBe(0)
    unsubscribe(LOCK_CHANNELS.holdEnded, stranger)
  })

  it('are counted once when it is enabled twice, and not at all when it is disabled', async () => {
    const lock = locks.getLock(harness.name('a'))
    telemetry.instrumentation.enable()
    const hold = await lock.acquire()
    telemetry.instrumentation.disable()
    telemetry.instrumentation.disable()
    await hold.release()
    await lock.withLock(() => undefined)
    telemetry.instrumentation.enable()
    await lock.withLock(() => undefined)
    expect(await telemetry.sum('holdfast_lock_acquisitions_total')).toBe(2)
    expect(await telemetry.sum('holdfast_lock_held')).toBe(0)
  })
})
