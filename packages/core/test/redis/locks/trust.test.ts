import { describe, expect, it } from '@jest/globals'
import type { LockLostError } from '../../../src/index.js'
import { sleep, useRig } from '../support/rig.js'

const rig = useRig()

const LEASE_MS = 10_000
const MARGIN_MS = 50 + LEASE_MS / 100
const ONE_WAY_MS = 150

describe('trust is counted from the sending', () => {
  // An upper bound: whatever else is slow only makes trust shorter.
  const most = LEASE_MS - MARGIN_MS - 2 * ONE_WAY_MS

  it.each([
    ['of an acquire', { lockWatchdogTimeout: 30_000 }, { leaseMs: LEASE_MS }],
    ['of a watched acquire', { lockWatchdogTimeout: LEASE_MS }, {}],
  ])('%s, so that it ends before the lease does on a slow wire (I3)', async (_what, options, request) => {
    const proxy = await rig.proxy()
    const locks = await rig.client(options, rig.connection({}, proxy))
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
  })
})

describe('an answer that shows how little is left', () => {
  it('ends the trust before verify resumes its caller (I3)', async () => {
    const proxy = await rig.proxy()
    const locks = await rig.client({}, rig.connection({}, proxy))
    locks.on('lost', () => undefined)
    await locks.getLock('order:41').withLock((hold) => hold.verify())
    const hold = await locks.getLock('order:42').acquire({ leaseMs: 1_000 })
    const { signal } = hold
    // Counted from the sending of the slow question, the rest of the lease is over when its answer comes; counted
    // from the acquisition it is not.
    await sleep(hold.trustedForMs - 400)
    proxy.delay(ONE_WAY_MS)
    const look = (outcome: unknown): object => ({
      outcome,
      trusted: hold.trustedForMs > 0,
      aborted: signal.aborted,
    })
    const seen = await hold.verify().then(
      () => look('still held'),
      (error: unknown) => look((error as LockLostError).code),
    )
    expect(seen).toEqual({ outcome: 'LOCK_LOST', trusted: false, aborted: true })
    proxy.pass()
  })
})
