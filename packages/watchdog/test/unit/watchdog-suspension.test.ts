import { describe, expect, it } from '@jest/globals'
import {
  beingRenewed,
  Bench,
  expectNothingLeft,
  FakeLease,
  INTERVAL,
  TRUST,
  TTL,
  watched,
} from './fixture.js'

expectNothingLeft()

/** A second of life before and after, so that "before the jump" is a time of its own. */
async function suspend(bench: Bench, ms = 60_000): Promise<void> {
  await bench.clock.advance(1_000)
  bench.clock.stepWall(ms)
}

/** The same, and somebody asks afterwards whose trust is over. */
async function suspendAndLook(bench: Bench): Promise<void> {
  await suspend(bench)
  bench.dog.endOverdueTrust()
}

describe('after the machine was suspended', () => {
  it('no watch is trusted, none is lost, and all are verified at once', async () => {
    const bench = new Bench()
    const [renewing, fixed] = [new FakeLease('renewing'), new FakeLease('fixed')]
    const watches = [bench.watch(renewing), bench.watch(fixed, { renew: false })]
    await suspend(bench)
    expect(watches.map((watch) => watch.trustedForMs)).toEqual([0, 0])
    const now = bench.dog.endOverdueTrust()
    expect(watches.map((watch) => watch.trustAt(now))).toEqual([0, 0])
    expect([renewing.losses, fixed.losses]).toEqual([[], []])
    expect(bench.store.batches).toEqual([['renewing']])
    expect(bench.store.remainders.map((call) => [call.leases[0]!.name, call.timeoutMs])).toEqual([
      ['fixed', INTERVAL],
    ])
  })

  it('a renewal clears suspicion and trust is exactly what it set', async () => {
    const bench = new Bench()
    const lease = new FakeLease()
    // The trust from before the jump was longer than a renewal sets, and is void.
    const watch = bench.watch(lease, { ttlMs: 10 * TTL })
    await suspend(bench)
    expect(watch.trustedForMs).toBe(0)
    await bench.clock.advance(500)
    await bench.answer(0, ['renewed'])
    expect(watch.trustedForMs).toBe(TRUST - 500)
    await bench.clock.advance(INTERVAL - 500)
    expect(bench.store.renewals).toHaveLength(2)
  })

  it('what the store still keeps clears suspicion of a lease that is not renewed', async () => {
    const { bench, watch } = watched({ renew: false })
    await suspendAndLook(bench)
    await bench.remain(0, 1_000)
    expect(watch.trustedForMs).toBe(940)
    await bench.clock.advance(940)
    expect(bench.dog.size).toBe(0)
  })

  it.each(['renewed', 'fixed'])(
    'a store that no longer knows the %s lease ends it as refused',
    async (kind) => {
      const { bench, lease } = watched({ renew: kind === 'renewed' })
      await suspendAndLook(bench)
      bench.store.renewals[0]?.answer(['lost'])
      bench.store.remainders[0]?.answer(null)
      await bench.clock.settle()
      expect([lease.losses, bench.dog.size]).toEqual([['refused'], 0])
    },
  )

  it.each([true, false])(
    'an unknown verification is told and retried, without trust (renew: %s)',
    async (renew) => {
      const { bench, lease, watch } = watched({ renew })
      await suspendAndLook(bench)
      const calls = renew ? bench.store.renewals : bench.store.remainders
      calls[0]!.fail()
      await bench.clock.settle()
      expect([watch.trustedForMs, lease.failures.length]).toEqual([0, 1])
      bench.renewAll()
      bench.store.remainWith = () => TTL
      await bench.clock.advance(100)
      expect([watch.trustedForMs, calls.length]).toEqual([TRUST, 2])
    },
  )

  it.each([NaN, -1, Infinity])('a remainder of %d is no answer', async (remainder) => {
    const { bench, lease, watch } = watched({ renew: false })
    await suspendAndLook(bench)
    bench.store.remainders[0]!.answer(remainder)
    await bench.clock.advance(100)
    expect([watch.trustedForMs, bench.store.remainders.length]).toEqual([0, 2])
    expect(lease.failures).toEqual([expect.any(RangeError)])
  })

  it('is noticed by the tick when nobody asks', async () => {
    const bench = new Bench()
    bench.watch(new FakeLease('due'))
    bench.watch(new FakeLease('fixed'), { renew: false })
    bench.clock.stepWall(60_000)
    await bench.clock.advance(INTERVAL)
    expect(bench.store.batches).toEqual([['due']])
    expect(bench.store.remainders).toHaveLength(1)
  })

  it('a suspect watch whose trust runs out is expired', async () => {
    const { bench, lease } = watched()
    await suspendAndLook(bench)
    await bench.clock.advance(TRUST - 1_000)
    expect(lease.losses).toEqual(['expired'])
  })

  it('a watch whose trust is over anyway is not renewed first', () => {
    const bench = new Bench()
    const lease = new FakeLease()
    bench.watch(lease, { sentAt: bench.clock.now() - TRUST })
    bench.clock.stepWall(60_000)
    bench.dog.endOverdueTrust()
    expect([lease.losses, bench.store.renewals]).toEqual([['expired'], []])
  })

  it('verification travels in batches', async () => {
    const bench = new Bench()
    for (let count = 0; count < 150; count += 1) bench.watch(new FakeLease())
    await suspendAndLook(bench)
    expect(bench.store.batches.map((names) => names.length)).toEqual([100, 50])
  })
})

describe('an answer to a request sent before the jump', () => {
  it.each([0, 1_000])(
    'neither clears suspicion nor extends trust (renewal, %i ms later)',
    async (laterMs) => {
      const { bench, watch } = await beingRenewed()
      bench.clock.stepWall(60_000)
      await bench.clock.advance(laterMs)
      // Nobody looked since the jump: the answer itself must not be believed.
      await bench.answer(0, ['renewed'])
      expect(watch.trustedForMs).toBe(0)
      expect(bench.store.renewals).toHaveLength(2)
      await bench.answer(1, ['renewed'])
      expect(watch.trustedForMs).toBe(TRUST)
    },
  )

  it('does not extend trust after suspicion was cleared either', async () => {
    const { bench, watch } = watched({ renew: false })
    const sentAt = bench.clock.now()
    await suspendAndLook(bench)
    await bench.remain(0, 1_000)
    watch.confirm(sentAt, TTL)
    watch.correct(sentAt, TTL)
    expect(watch.trustedForMs).toBe(940)
  })

  it.each([true, false])(
    'is ignored when it says lost: the verification will tell (looked: %s)',
    async (looked) => {
      const { bench, lease } = await beingRenewed()
      bench.clock.stepWall(60_000)
      if (looked) bench.dog.endOverdueTrust()
      await bench.answer(0, ['lost'])
      expect(lease.losses).toEqual([])
      await bench.answer(1, ['lost'])
      expect(lease.losses).toEqual(['refused'])
    },
  )

  it('its failure starts no retry of its own', async () => {
    const { bench, lease } = await beingRenewed()
    bench.clock.stepWall(60_000)
    bench.dog.endOverdueTrust()
    bench.store.renewals[0]!.fail()
    await bench.clock.advance(1_000)
    expect([bench.store.renewals.length, lease.failures]).toEqual([2, []])
  })

  it('a confirmation by the owner that finds the jump itself is not believed', async () => {
    const { bench, watch } = watched()
    const sentAt = bench.clock.now()
    await suspend(bench)
    watch.confirm(sentAt, TTL)
    expect(watch.trustedForMs).toBe(0)
  })

  it('an answer to a request sent before the jump, and confirmed by the owner does not postpone the end of a suspect watch', async () => {
    const { bench, lease, watch } = watched()
    const sentAt = bench.clock.now()
    await suspend(bench)
    watch.confirm(sentAt, 10 * TTL)
    await bench.clock.advance(TRUST - 1_000)
    expect(lease.losses).toEqual(['expired'])
  })

  it('does not revive a watch whose trust is over, either', async () => {
    const { bench, lease, watch } = await beingRenewed()
    watch.correct(bench.clock.now(), 0)
    bench.clock.stepWall(60_000)
    expect(watch.trustedForMs).toBe(0)
    await bench.answer(0, ['renewed'])
    expect([watch.trustedForMs, bench.store.renewals.length]).toEqual([0, 1])
    await bench.clock.advance(0)
    expect(lease.losses).toEqual(['expired'])
  })

  it('a second jump voids the verification of the first', async () => {
    const { bench, watch } = watched({ renew: false })
    await suspendAndLook(bench)
    await suspend(bench)
    await bench.remain(0, TTL)
    expect(watch.trustedForMs).toBe(0)
    await bench.remain(1, TTL)
    expect(watch.trustedForMs).toBe(TRUST)
  })

  it('a grant that was asked for before the jump is suspect from birth', async () => {
    const bench = new Bench()
    const sentAt = bench.clock.now()
    await suspendAndLook(bench)
    bench.renewAll()
    const watch = bench.watch(new FakeLease('late'), { sentAt })
    expect(watch.trustedForMs).toBe(0)
    expect(bench.store.batches).toEqual([['late']])
    await bench.clock.settle()
    expect(watch.trustedForMs).toBe(TRUST)
    const fresh = bench.watch(new FakeLease('fresh'))
    expect(fresh.trustedForMs).toBe(TRUST)
  })
})

describe('a suspect watch', () => {
  it('is trusted again by a confirmation that the owner got after the jump', async () => {
    const { bench, watch } = watched()
    await suspendAndLook(bench)
    watch.confirm(bench.clock.now(), TTL)
    expect(watch.trustedForMs).toBe(TRUST)
  })

  it('a suspect watch that stops renewing while its verification fails is verified without a renewal', async () => {
    const { bench, watch } = watched()
    await suspendAndLook(bench)
    watch.setRenewing(false)
    await bench.fail(0)
    expect([bench.store.renewals.length, bench.store.remainders.length]).toEqual([1, 1])
    await bench.remain(0, TTL)
    expect(watch.trustedForMs).toBe(TRUST)
  })

  it('a suspect watch that starts renewing meanwhile is renewed once it is verified', async () => {
    const { bench, watch } = watched({ renew: false })
    await suspendAndLook(bench)
    watch.setRenewing(true)
    expect(bench.store.renewals).toHaveLength(0)
    bench.store.remainders[0]!.answer(5_000)
    await bench.clock.advance(0)
    expect(bench.store.renewals).toHaveLength(1)
  })

  it('a suspect watch that was confirmed for a short time is renewed within that time', async () => {
    const { bench, watch } = watched({ renew: false })
    await suspendAndLook(bench)
    bench.store.remainders[0]!.fail()
    await bench.clock.settle()
    watch.setRenewing(true)
    watch.confirm(bench.clock.now(), 1_200)
    await bench.clock.advance(400)
    expect(bench.store.renewals).toHaveLength(1)
  })

  it('a suspect watch that was confirmed and set to renew during a pause leaves the verification', async () => {
    const { bench, watch } = watched({ renew: false })
    await suspendAndLook(bench)
    bench.store.remainders[0]!.fail()
    await bench.clock.settle()
    watch.confirm(bench.clock.now(), TTL)
    watch.setRenewing(true)
    await bench.clock.advance(INTERVAL)
    expect([bench.store.remainders.length, bench.store.renewals.length]).toEqual([1, 1])
  })
})

describe('a wall clock that was only adjusted', () => {
  it.each([-3_600_000, -60, 50])('by %i ms leaves trust alone', async (stepMs) => {
    const { bench, watch } = watched({ renew: false })
    await suspend(bench, stepMs)
    expect(watch.trustedForMs).toBe(TRUST - 1_000)
    expect(bench.store.remainders).toHaveLength(0)
  })
})
