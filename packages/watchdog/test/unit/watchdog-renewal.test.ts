import { describe, expect, it } from '@jest/globals'
import { Watchdog } from '../../src/index.js'
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

describe('renewal', () => {
  it('comes a third of the lease after the last successful one was sent', async () => {
    const { bench } = watched()
    bench.renewAll()
    const startedAt = bench.clock.now()
    await bench.clock.advance(4 * INTERVAL)
    expect(bench.store.renewals.map((call) => call.sentAt - startedAt)).toEqual([
      10_000, 20_000, 30_000, 40_000,
    ])
  })

  it('keeps a lease trusted for ever while the store answers', async () => {
    const { bench, lease, watch } = watched()
    bench.renewAll()
    await bench.clock.advance(100 * TTL)
    expect(lease.losses).toEqual([])
    expect(watch.trustedForMs).toBeGreaterThanOrEqual(TRUST - INTERVAL)
  })

  it('a slow successful renewal does not extend trust beyond send time + ttl', async () => {
    const { bench, watch } = await beingRenewed()
    await bench.clock.advance(9_000)
    await bench.answer(0, ['renewed'])
    expect(watch.trustedForMs).toBe(TRUST - 9_000)
    // The next one is counted from the sending, too.
    await bench.clock.advance(1_000)
    expect(bench.store.renewals).toHaveLength(2)
  })

  it('does not repeat itself while an attempt is under way', async () => {
    const { bench } = watched()
    await bench.clock.advance(TRUST - 1)
    expect(bench.store.renewals).toHaveLength(1)
  })

  it('a refusal ends this watch, with the reason refused, and no other', async () => {
    const bench = new Bench()
    const leases = ['a', 'b', 'c'].map((name) => new FakeLease(name))
    const watches = leases.map((lease) => bench.watch(lease))
    await bench.clock.advance(INTERVAL)
    const call = bench.store.renewals[0]!
    call.answer(call.leases.map((lease) => (lease.name === 'b' ? 'lost' : 'renewed')))
    await bench.clock.settle()
    expect(leases.map((lease) => lease.losses)).toEqual([[], ['refused'], []])
    expect(watches.map((watch) => watch.trustedForMs)).toEqual([TRUST, 0, TRUST])
  })

  it('renewal of a lease granted for less than a renewal sets comes before that is over', async () => {
    const { bench, lease } = watched({ ttlMs: 3_000 })
    bench.renewAll()
    await bench.clock.advance(1_000)
    expect(bench.store.renewals.map((call) => call.timeoutMs)).toEqual([1_000])
    await bench.clock.advance(INTERVAL)
    expect(bench.store.renewals.map((call) => call.timeoutMs)).toEqual([1_000, 10_000])
    expect(lease.losses).toEqual([])
  })

  it('renewal that does not make trust longer is still not repeated at once', async () => {
    const { bench } = watched({ ttlMs: 100 * TTL })
    bench.renewAll()
    await bench.clock.advance(5 * INTERVAL)
    expect(bench.store.renewals).toHaveLength(5)
  })

  it('a confirmation by the owner postpones it', async () => {
    const { bench, watch } = watched()
    await bench.clock.advance(8_000)
    watch.confirm(bench.clock.now(), TTL)
    await bench.clock.advance(INTERVAL - 1)
    expect(bench.store.renewals).toHaveLength(0)
    await bench.clock.advance(1)
    expect(bench.store.renewals).toHaveLength(1)
  })

  it('tells the store the shortest interval of the chunk as its time limit', async () => {
    const bench = new Bench()
    bench.watch(new FakeLease('long', TTL), { sentAt: bench.clock.now() - 9_500 })
    bench.watch(new FakeLease('short', 1_500))
    await bench.clock.advance(500)
    expect(bench.store.renewals.map((call) => call.timeoutMs)).toEqual([500])
  })
})

describe('batches', () => {
  it('what is due within a tenth of its interval travels along, what is due later does not', async () => {
    const bench = new Bench()
    const startedAt = bench.clock.now()
    for (const [name, ageMs] of [
      ['due', 0],
      ['soon', -1_000],
      ['later', -1_001],
    ] as const) {
      bench.watch(new FakeLease(name), { sentAt: startedAt - ageMs })
    }
    await bench.clock.advance(INTERVAL)
    expect(bench.store.batches).toEqual([['due', 'soon']])
  })

  it('a short lease does not travel along with a long one before its own time', async () => {
    const bench = new Bench()
    bench.watch(new FakeLease('long'), { sentAt: bench.clock.now() - 9_500 })
    bench.watch(new FakeLease('short', 3_000))
    await bench.clock.advance(500)
    expect(bench.store.batches).toEqual([['long']])
  })

  it('no renewal carries more than batchSize leases, 100 by default', async () => {
    const bench = new Bench()
    bench.renewAll()
    for (let count = 0; count < 250; count += 1) bench.watch(new FakeLease())
    await bench.clock.advance(INTERVAL)
    expect(bench.store.batches.map((names) => names.length)).toEqual([100, 100, 50])
    const small = new Bench({ batchSize: 2 })
    for (let count = 0; count < 3; count += 1) small.watch(new FakeLease())
    await small.clock.advance(INTERVAL)
    expect(small.store.batches.map((names) => names.length)).toEqual([2, 1])
  })

  it.each([0, -1, 1.5, NaN])('a batchSize of %d is refused', (batchSize) => {
    const { clock, store } = new Bench()
    expect(() => new Watchdog(store, { clock, random: () => 0, batchSize })).toThrow(RangeError)
  })

  it('leases with different batch keys never travel together', async () => {
    const bench = new Bench()
    Object.assign(bench.store, { batchKey: (lease: FakeLease) => lease.name[0] })
    for (const name of ['a1', 'b1', 'a2', 'b2']) bench.watch(new FakeLease(name))
    await bench.clock.advance(INTERVAL)
    const batches = bench.store.batches.map((names) => [...names].sort()).sort()
    expect(batches).toEqual([
      ['a1', 'a2'],
      ['b1', 'b2'],
    ])
  })

  it('a chunk that hangs or is rejected delays no other', async () => {
    const bench = new Bench()
    Object.assign(bench.store, { batchKey: (lease: FakeLease) => lease.name })
    const [hanging, rejected, fine] = ['hanging', 'rejected', 'fine'].map((name) => new FakeLease(name))
    const watches = [hanging!, rejected!, fine!].map((lease) => bench.watch(lease))
    await bench.clock.advance(INTERVAL)
    const callOf = (lease: FakeLease) => bench.store.renewals.find((call) => call.leases.includes(lease))
    callOf(rejected!)!.fail()
    callOf(fine!)!.answer(['renewed'])
    await bench.clock.settle()
    expect(watches.map((watch) => watch.trustedForMs)).toEqual([TRUST - INTERVAL, TRUST - INTERVAL, TRUST])
    await bench.clock.advance(INTERVAL)
    expect(bench.store.batches.filter(([name]) => name === 'fine')).toHaveLength(2)
    expect(bench.store.batches.filter(([name]) => name === 'hanging')).toHaveLength(1)
  })
})

describe('setRenewing', () => {
  it('off: trust stays as it is and then runs out', async () => {
    const { bench, lease, watch } = watched()
    watch.setRenewing(false)
    expect([watch.renewing, watch.trustedForMs]).toEqual([false, TRUST])
    await bench.clock.advance(TRUST)
    expect([lease.losses, bench.store.renewals]).toEqual([['expired'], []])
  })

  it('off: the answer to an attempt under way still counts', async () => {
    const { bench, watch } = await beingRenewed()
    watch.setRenewing(false)
    await bench.answer(0, ['renewed'])
    expect(watch.trustedForMs).toBe(TRUST)
    await bench.clock.advance(TRUST - 1)
    expect(bench.store.renewals).toHaveLength(1)
  })

  it('on: the first renewal comes an interval from now when there is time', async () => {
    const { bench, watch } = watched({ renew: false })
    await bench.clock.advance(5_000)
    watch.setRenewing(true)
    watch.setRenewing(true)
    expect(watch.renewing).toBe(true)
    await bench.clock.advance(INTERVAL - 1)
    expect(bench.store.renewals).toHaveLength(0)
    await bench.clock.advance(1)
    expect(bench.store.renewals).toHaveLength(1)
  })

  it('on: at once when less than a third is left', async () => {
    const { bench, watch } = watched({ renew: false })
    await bench.clock.advance(TRUST - 9_000)
    watch.setRenewing(true)
    await bench.clock.advance(0)
    expect(bench.store.renewals).toHaveLength(1)
  })

  it('off and on again while an attempt is under way starts no second one', async () => {
    const { bench, watch } = await beingRenewed()
    watch.setRenewing(false)
    watch.setRenewing(true)
    await bench.clock.advance(INTERVAL)
    expect(bench.store.renewals).toHaveLength(1)
  })
})

describe('renewForMs', () => {
  it('after it nothing is renewed, and trust runs out by itself', async () => {
    const { bench, lease, watch } = watched({ renewForMs: 25_000 })
    bench.renewAll()
    await bench.clock.advance(24_999)
    expect([bench.store.renewals.length, watch.renewing]).toEqual([2, true])
    await bench.clock.advance(1)
    expect(watch.renewing).toBe(false)
    await bench.clock.advance(2 * INTERVAL + TRUST - 25_000)
    expect([bench.store.renewals.length, lease.losses]).toEqual([2, ['expired']])
  })

  it('cannot be undone by setRenewing', async () => {
    const { bench, watch } = watched({ renewForMs: 5_000 })
    await bench.clock.advance(6_000)
    watch.setRenewing(false)
    watch.setRenewing(true)
    await bench.clock.advance(TRUST - 6_001)
    expect([watch.renewing, bench.store.renewals]).toEqual([false, []])
  })

  it('a renewal that a pause of the process delayed beyond it is not sent', async () => {
    const bench = new Bench()
    const lease = new FakeLease()
    bench.watch(lease, { sentAt: bench.clock.now() - 20_000, renewForMs: 15_000 })
    await bench.clock.advance(TRUST - 20_000)
    expect([bench.store.renewals, lease.losses]).toEqual([[], ['expired']])
    expect(bench.timersSet).toBeLessThan(5)
  })

  it('ends the retries of a renewal', async () => {
    const { bench } = watched({ renewForMs: 12_000 })
    bench.store.renewWith = () => ['unknown']
    await bench.clock.advance(TRUST)
    const lastSentAt = bench.store.renewals.at(-1)!.sentAt - 1_000
    expect(lastSentAt).toBeGreaterThan(10_000)
    expect(lastSentAt).toBeLessThan(12_000)
  })
})
