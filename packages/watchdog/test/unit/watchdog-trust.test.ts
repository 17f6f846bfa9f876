import { describe, expect, it } from '@jest/globals'
import type { Watchdog } from '../../src/index.js'
import { Bench, expectNothingLeft, FakeLease, INTERVAL, TRUST, TTL, watched } from './fixture.js'

expectNothingLeft()

describe('trust', () => {
  it('is counted from the sending of the grant, less the margin, not from its arrival', async () => {
    const { clock, dog } = new Bench()
    const sentAt = clock.now()
    await clock.advance(4_000)
    const watch = dog.watch(new FakeLease(), { sentAt, ttlMs: TTL, renew: false })
    expect(watch.trustedForMs).toBe(TRUST - 4_000)
  })

  it('runs out to the millisecond: the watch ends and onLost says expired, once', async () => {
    const { bench, lease, watch } = watched({ renew: false })
    await bench.clock.advance(TRUST - 1)
    expect([watch.trustedForMs, lease.losses]).toEqual([1, []])
    await bench.clock.advance(1)
    expect([watch.trustedForMs, lease.losses, bench.dog.size]).toEqual([0, ['expired'], 0])
    await bench.clock.advance(TTL)
    expect(lease.losses).toEqual(['expired'])
  })

  it('at the moment that endOverdueTrust returns is what it is, and needs no clock', async () => {
    const { bench, watch } = watched()
    await bench.clock.advance(1_000)
    const now = bench.dog.endOverdueTrust()
    expect(now).toBe(bench.clock.now())
    expect([watch.trustAt(now), watch.renewingAt(now)]).toEqual([TRUST - 1_000, true])
    watch.stop()
    expect([watch.trustAt(now), watch.renewingAt(now)]).toEqual([0, false])
  })

  it('is not counted while those are told whose trust is over', () => {
    const bench = new Bench()
    const lease = new FakeLease()
    lease.onLost = () => bench.clock.pass(3_000)
    bench.watch(lease, { sentAt: bench.clock.now() - TTL, renew: false })
    const other = bench.watch(new FakeLease(), { renew: false })
    expect(other.trustAt(bench.dog.endOverdueTrust())).toBe(TRUST - 3_000)
  })

  it('trust that is over on arrival ends the watch at the next tick, without a renewal', async () => {
    const bench = new Bench()
    const lease = new FakeLease()
    const watch = bench.watch(lease, { sentAt: bench.clock.now() - TTL })
    expect(watch.trustedForMs).toBe(0)
    await bench.clock.advance(0)
    expect(lease.losses).toEqual(['expired'])
    expect(bench.store.renewals).toEqual([])
  })

  it('trust of a lease without renewal grows by confirm and never shrinks by it', () => {
    const { bench, watch } = watched({ renew: false })
    watch.confirm(bench.clock.now(), 2 * TTL)
    expect(watch.trustedForMs).toBe(60_000 - 650)
    watch.confirm(bench.clock.now(), 1_000)
    expect(watch.trustedForMs).toBe(60_000 - 650)
  })

  it('becomes by correct exactly what the store still keeps, longer or shorter', () => {
    const { bench, watch } = watched({ renew: false })
    watch.correct(bench.clock.now(), 1_000)
    expect(watch.trustedForMs).toBe(940)
    watch.correct(bench.clock.now(), 2 * TTL)
    expect(watch.trustedForMs).toBe(60_000 - 650)
  })

  it('trust that correct says is over ends the watch at once, before whoever asked goes on', () => {
    const { bench, lease, watch } = watched()
    watch.correct(bench.clock.now(), 0)
    expect([watch.trustedForMs, lease.losses, bench.dog.size]).toEqual([0, ['expired'], 0])
    expect(bench.store.renewals).toEqual([])
  })

  it('trust that correct shortened is renewed while there is room for a retry', async () => {
    const { bench, watch } = watched()
    watch.correct(bench.clock.now(), 15_000)
    await bench.clock.advance(4_799)
    expect(bench.store.renewals).toHaveLength(0)
    await bench.clock.advance(1)
    expect(bench.store.renewals).toHaveLength(1)
  })

  it('a time that is no duration is refused before it can harm the other watches', () => {
    const bench = new Bench()
    expect(() => bench.watch(new FakeLease('bad', NaN))).toThrow(RangeError)
    expect(() => bench.watch(new FakeLease('bad', 0))).toThrow('lease.ttlMs must be above 0')
    expect(() => bench.watch(new FakeLease(), { ttlMs: Infinity })).toThrow('grant.ttlMs')
    expect(() => bench.watch(new FakeLease(), { sentAt: NaN })).toThrow('grant.sentAt')
    expect(() => bench.watch(new FakeLease(), { renewForMs: NaN })).toThrow('grant.renewForMs')
    const watch = bench.watch(new FakeLease())
    expect(() => watch.confirm(bench.clock.now(), NaN)).toThrow(RangeError)
    expect(() => watch.correct(bench.clock.now(), -1)).toThrow(RangeError)
    expect([bench.dog.size, watch.trustedForMs]).toEqual([1, TRUST])
  })
})

describe('endOverdueTrust', () => {
  it('ends overdue trust synchronously, before the timer had a chance', () => {
    const bench = new Bench()
    const lease = new FakeLease()
    const now = bench.clock.now()
    bench.watch(lease, { sentAt: now - TRUST, renew: false })
    const other = bench.watch(new FakeLease(), { sentAt: now - TRUST + 1, renew: false })
    bench.dog.endOverdueTrust()
    expect([lease.losses, bench.dog.size, other.trustedForMs]).toEqual([['expired'], 1, 1])
  })

  it('sends the renewals that a pause of the process delayed', () => {
    const bench = new Bench()
    bench.watch(new FakeLease('late'), { sentAt: bench.clock.now() - 15_000 })
    bench.dog.endOverdueTrust()
    bench.dog.endOverdueTrust()
    expect(bench.store.batches).toEqual([['late']])
  })
})

describe('the end of a watch', () => {
  it('lose calls onLost synchronously, once, with the reason of the owner', () => {
    const { bench, lease, watch } = watched()
    watch.lose('refused')
    watch.lose('expired')
    expect([lease.losses, bench.dog.size]).toEqual([['refused'], 0])
    expect([watch.trustedForMs, watch.renewing]).toEqual([0, false])
  })

  it('stop calls nothing, then or later', async () => {
    const { bench, lease, watch } = watched()
    watch.stop()
    watch.lose('refused')
    watch.stop()
    await bench.clock.advance(2 * TTL)
    expect([lease.losses, watch.trustedForMs, bench.store.renewals]).toEqual([[], 0, []])
  })

  it('nothing revives an ended watch', () => {
    const { bench, watch } = watched()
    watch.stop()
    watch.confirm(bench.clock.now(), TTL)
    watch.correct(bench.clock.now(), TTL)
    watch.setRenewing(false)
    watch.setRenewing(true)
    expect([watch.trustedForMs, watch.renewing, bench.dog.size]).toEqual([0, false, 0])
  })

  it.each(['renewed', 'lost', 'unknown'] as const)(
    'a late "%s" about a stopped watch is ignored',
    async (late) => {
      const bench = new Bench()
      const [stopped, kept] = [new FakeLease('stopped'), new FakeLease('kept')]
      const watch = bench.watch(stopped)
      const other = bench.watch(kept)
      await bench.clock.advance(INTERVAL)
      watch.stop()
      const call = bench.store.renewals[0]!
      call.answer(call.leases.map((lease) => (lease === stopped ? late : 'renewed')))
      await bench.clock.settle()
      expect([stopped.losses, stopped.failures, watch.trustedForMs]).toEqual([[], [], 0])
      expect(other.trustedForMs).toBe(TRUST)
    },
  )

  it('a late answer about an expired watch is ignored', async () => {
    const { bench, lease, watch } = watched()
    await bench.clock.advance(TRUST)
    await bench.answer(0, ['lost'])
    expect([lease.losses, watch.trustedForMs]).toEqual([['expired'], 0])
  })

  it('a callback that throws harms no other watch, and its error reaches the owner', async () => {
    const bench = new Bench()
    const broken = new FakeLease('broken')
    const error = new Error('listener is broken')
    broken.onLost = () => {
      throw error
    }
    const others = [new FakeLease(), new FakeLease()]
    const watches: ReturnType<Watchdog<FakeLease>['watch']>[] = []
    for (const lease of [others[0]!, broken, others[1]!]) watches.push(bench.watch(lease, { renew: false }))
    await bench.clock.advance(TRUST)
    expect(others.map((lease) => lease.losses)).toEqual([['expired'], ['expired']])
    expect(bench.callbackErrors).toEqual([error])
    expect(bench.dog.size).toBe(0)
  })

  it('not even a broken onCallbackError harms another watch', async () => {
    const throwing = () => {
      throw new Error('broken')
    }
    const bench = new Bench({ onCallbackError: throwing })
    const leases = [new FakeLease(), new FakeLease()]
    leases[0]!.onLost = throwing
    for (const lease of leases) bench.watch(lease, { renew: false })
    await bench.clock.advance(TRUST)
    expect(leases[1]!.losses).toEqual(['expired'])
  })

  it('a callback may stop, lose and watch other leases while the due ones are handled', async () => {
    const bench = new Bench()
    const first = new FakeLease('first')
    const [stopped, lost, fresh] = [new FakeLease(), new FakeLease(), new FakeLease('fresh')]
    bench.watch(first, { renew: false })
    const toStop = bench.watch(stopped, { renew: false })
    const toLose = bench.watch(lost, { renew: false })
    first.onLost = () => {
      toStop.stop()
      toLose.lose('refused')
      bench.watch(fresh, { renew: false })
    }
    await bench.clock.advance(TRUST)
    expect([stopped.losses, lost.losses, bench.dog.size]).toEqual([[], ['refused'], 1])
    await bench.clock.advance(TRUST)
    expect(fresh.losses).toEqual(['expired'])
  })
})
