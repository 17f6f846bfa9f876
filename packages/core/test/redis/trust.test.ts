import { describe, expect, it } from '@jest/globals'
import { FaultProxy } from '@holdfast/testing'
import { usePrivateServer } from './support/private-server.js'

const own = usePrivateServer()

const LEASE_MS = 2_000
const MARGIN_MS = 50 + LEASE_MS / 100
const ONE_WAY_MS = 150

describe('trust is counted from the sending', () => {
  // An upper bound: whatever else is slow only makes trust shorter.
  const most = LEASE_MS - MARGIN_MS - 2 * ONE_WAY_MS

  it.each([
    ['of an acquire', { lockWatchdogTimeout: 30_000 }, { leaseMs: LEASE_MS }],
    ['of a watched acquire', { lockWatchdogTimeout: LEASE_MS }, {}],
  ])('%s, so that it ends before the lease does on a slow wire (I3)', async (_what, options, request) => {
    const proxy = await FaultProxy.start(own.server)
    try {
      const locks = await own.client({ ...options, commandTimeout: 1_000 }, own.connection({}, proxy.url))
      const lock = locks.getLock('order:42')
      await lock.withLock(() => undefined)
      proxy.delay(ONE_WAY_MS)
      const hold = await lock.acquire(request)
      expect(hold.trustedForMs).toBeGreaterThan(0)
      expect(hold.trustedForMs).toBeLessThanOrEqual(most)
      await hold.extend(LEASE_MS)
      expect(hold.trustedForMs).toBeLessThanOrEqual(most)
      proxy.pass()
      await hold.release()
    } finally {
      await proxy.stop()
    }
  })
})
