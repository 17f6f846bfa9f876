import { describe, expect, it, jest } from '@jest/globals'
import { beingRenewed, Bench, expectNothingLeft, FakeLease, INTERVAL, TTL, watched } from './fixture.js'

expectNothingLeft()

describe('close', () => {
  it('close of an idle watchdog resolves without a timer', async () => {
    const bench = new Bench()
    await bench.dog.close()
    expect(bench.timersSet).toBe(0)
  })

  it('ends every watch without a callback, then or later', async () => {
    const { bench, lease, watch } = watched()
    await bench.dog.close()
    expect([bench.dog.size, bench.clock.pendingTimers]).toEqual([0, 0])
    expect([watch.trustedForMs, watch.renewing]).toEqual([0, false])
    watch.lose('refused')
    await bench.clock.advance(2 * TTL)
    expect([lease.losses, bench.store.renewals]).toEqual([[], []])
  })

  it('is safe twice, also while the first is under way', async () => {
    const { bench } = watched()
    await Promise.all([bench.dog.close(), bench.dog.close()])
    await bench.dog.close()
  })

  it('after it watch throws and endOverdueTrust does nothing', async () => {
    const bench = new Bench()
    await bench.dog.close()
    expect(() => bench.watch(new FakeLease())).toThrow('the watchdog is closed')
    bench.clock.stepWall(60_000)
    bench.dog.endOverdueTrust()
    expect(bench.clock.pendingTimers).toBe(0)
  })

  it.each(['answer', 'fail'] as const)(
    'waits for a call under way to settle (%s), and calls nothing',
    async (how) => {
      const { bench, lease } = await beingRenewed()
      const closed = jest.fn()
      const closing = bench.dog.close().then(closed)
      await bench.clock.settle()
      expect(closed).not.toHaveBeenCalled()
      if (how === 'answer') bench.store.renewals[0]!.answer(['lost'])
      else bench.store.renewals[0]!.fail()
      await closing
      expect([lease.losses, lease.failures, bench.clock.pendingTimers]).toEqual([[], [], 0])
      expect(bench.store.renewals).toHaveLength(1)
    },
  )

  it('abandons a call that outlives the time it was given', async () => {
    const { bench, lease } = watched()
    await bench.clock.advance(INTERVAL + 1_000)
    const closed = jest.fn()
    const closing = bench.dog.close().then(closed)
    await bench.clock.advance(INTERVAL - 1_001)
    expect(closed).not.toHaveBeenCalled()
    await bench.clock.advance(1)
    await closing
    expect(bench.clock.pendingTimers).toBe(0)
    bench.store.renewals[0]!.fail()
    await bench.clock.advance(TTL)
    expect([lease.losses, lease.failures, bench.store.renewals.length]).toEqual([[], [], 1])
  })

  it('ends the pause of a retry at once', async () => {
    const { bench } = await beingRenewed()
    await bench.fail(0)
    await bench.dog.close()
    expect(bench.clock.pendingTimers).toBe(0)
    await bench.clock.advance(TTL)
    expect(bench.store.renewals).toHaveLength(1)
  })

  it('may be called from onLost, while the due watches are handled', async () => {
    const bench = new Bench()
    const leases = [new FakeLease(), new FakeLease()]
    leases[0]!.onLost = () => void bench.dog.close()
    for (const lease of leases) bench.watch(lease, { renew: false })
    await bench.clock.advance(TTL)
    expect([leases[1]!.losses, bench.clock.pendingTimers]).toEqual([[], 0])
  })
})
