import { describe, expect, it } from '@jest/globals'
import { LockLostError } from '../../src/index.js'
import { useHarness } from './support/harness.js'

describe('re-entry', () => {
  const harness = useHarness()

  it('an inner fixed lease never shortens a watched outer hold', async () => {
    const locks = await harness.client()
    const lock = locks.getLock(harness.name())
    await locks.run(async () => {
      await lock.lock()
      await lock.lock(1_000)
      expect(await lock.remainTimeToLive()).toBeGreaterThan(29_000)
      await lock.unlock()
      await lock.unlock()
    })
  })

  it('lock, lock with a lease, unlock: the outer hold is still renewed', async () => {
    const locks = await harness.client({ lockWatchdogTimeout: 600 })
    const lock = locks.getLock(harness.name())
    await locks.run(async () => {
      const outer = await lock.lock()
      await lock.lock(700)
      await lock.unlock()
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      expect(outer.signal.aborted).toBe(false)
      expect(await lock.getHoldCount()).toBe(1)
      await lock.unlock()
    })
  })

  it('re-entry after the key was deleted is a loss on every level', async () => {
    const locks = await harness.client()
    const lock = locks.getLock(harness.name())
    await locks.run(async () => {
      const outer = await lock.lock()
      const inner = await lock.lock()
      await harness.admin.del(harness.name())
      await expect(lock.lock()).rejects.toThrow(LockLostError)
      expect(outer.signal.aborted).toBe(true)
      expect(inner.signal.aborted).toBe(true)
      expect(await inner.release()).toBe('lost')
      expect(await outer.release()).toBe('lost')
    })
  })
})
