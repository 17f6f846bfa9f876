import { describe, expect, it } from '@jest/globals'
import { beingRenewed, Bench, expectNothingLeft, FakeLease, INTERVAL, TRUST, watched } from './fixture.js'

expectNothingLeft()

describe('an unknown outcome', () => {
  it('neither extends nor ends trust, and is told to the lease', async () => {
    const { bench, lease, watch } = await beingRenewed()
    const error = new Error('connection lost')
    await bench.fail(0, error)
    expect([watch.trustedForMs, lease.losses, lease.failures]).toEqual([TRUST - INTERVAL, [], [error]])
  })

  it('an unknown outcome that lasts ends in expired when trust runs out, not before', async () => {
    const { bench, lease } = watched()
    bench.store.renewWith = () => ['unknown']
    await bench.clock.advance(TRUST - 1)
    expect(lease.losses).toEqual([])
    await bench.clock.advance(1)
    expect(lease.losses).toEqual(['expired'])
    const calls = bench.store.renewals.length
    await bench.clock.advance(TRUST)
    expect(bench.store.renewals).toHaveLength(calls)
  })

  it('is retried after 100, 200, 400, ... ms, at most half an interval', async () => {
    const { bench } = watched()
    bench.store.renewWith = () => ['unknown']
    await bench.clock.advance(TRUST)
    const sentAt = bench.store.renewals.map((call) => call.sentAt)
    const pauses = sentAt.slice(1).map((time, index) => time - sentAt[index]!)
    expect(pauses).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000])
  })

  it('jitter makes a pause up to half as long', async () => {
    const { bench } = watched()
    bench.random = 0
    bench.store.renewWith = () => ['unknown']
    await bench.clock.advance(INTERVAL + 50)
    expect(bench.store.renewals).toHaveLength(2)
  })

  it('a retry that succeeds counts from its own sending', async () => {
    const { bench, watch } = await beingRenewed()
    bench.store.renewals[0]!.fail()
    bench.renewAll()
    await bench.clock.advance(100)
    expect([watch.trustedForMs, bench.store.renewals.length]).toEqual([TRUST, 2])
  })

  it('an unknown outcome of one lease retries that one only', async () => {
    const bench = new Bench()
    const names = ['renewed', 'unknown', 'lost', 'unknown'] as const
    const leases = names.map((name) => new FakeLease(name))
    for (const lease of leases) bench.watch(lease)
    await bench.clock.advance(INTERVAL)
    bench.store.renewals[0]!.answer(bench.store.renewals[0]!.leases.map((lease) => lease.name as 'renewed'))
    await bench.clock.advance(100)
    expect(bench.store.batches[1]).toEqual(['unknown', 'unknown'])
    expect(leases.map((lease) => lease.failures.length)).toEqual([0, 1, 0, 1])
    expect(leases[1]!.failures).toEqual([
      new Error('the outcome of the renewal is unknown: the store answered "unknown"'),
    ])
  })

  it('is not retried for leases that were stopped or are no longer to be renewed', async () => {
    const bench = new Bench()
    const [stopped, off] = [bench.watch(new FakeLease('stopped')), bench.watch(new FakeLease('off'))]
    bench.watch(new FakeLease('kept'))
    await bench.clock.advance(INTERVAL)
    await bench.fail(0)
    stopped.stop()
    off.setRenewing(false)
    await bench.clock.advance(100)
    expect(bench.store.batches[1]).toEqual(['kept'])
  })

  it('retries end when no lease of the chunk is left', async () => {
    const { bench, watch } = await beingRenewed()
    watch.stop()
    await bench.fail(0)
    expect(bench.clock.pendingTimers).toBeLessThanOrEqual(1)
    await bench.clock.advance(TRUST)
    expect(bench.store.renewals).toHaveLength(1)
  })

  it('renewal that was switched off and on during a pause is neither lost nor doubled', async () => {
    const { bench, watch } = await beingRenewed()
    await bench.fail(0)
    watch.setRenewing(false)
    watch.setRenewing(true)
    bench.renewAll()
    await bench.clock.advance(100)
    expect(bench.store.renewals).toHaveLength(2)
    expect(watch.trustedForMs).toBe(TRUST)
  })

  it.each([[[]], [['renewed', 'renewed', 'renewed']]] as const)(
    'a wrong number of answers is unknown for all, and says so',
    async (answers) => {
      const bench = new Bench()
      const leases = [new FakeLease(), new FakeLease()]
      const watches = leases.map((lease) => bench.watch(lease))
      await bench.clock.advance(INTERVAL)
      await bench.answer(0, answers)
      for (const lease of leases) {
        expect(lease.failures).toEqual([new Error(`the store gave ${answers.length} answers about 2 leases`)])
      }
      expect(watches.map((watch) => watch.trustedForMs)).toEqual([TRUST - INTERVAL, TRUST - INTERVAL])
      await bench.clock.advance(100)
      expect(bench.store.renewals).toHaveLength(2)
    },
  )

  it('an answer that is none of the three is unknown', async () => {
    const { bench, lease } = await beingRenewed()
    bench.store.renewals[0]!.answer([undefined as never])
    await bench.clock.advance(100)
    expect(lease.failures).toHaveLength(1)
    expect(bench.store.renewals).toHaveLength(2)
  })

  it('a store that throws a TypeError, synchronously even, is retried like any other', async () => {
    const { bench, lease, watch } = watched()
    bench.store.renewWith = undefined
    const renew = bench.store.renew.bind(bench.store)
    bench.store.renew = () => {
      bench.store.renew = renew
      bench.renewAll()
      throw new TypeError('not a function')
    }
    await bench.clock.advance(INTERVAL + 100)
    expect([lease.failures, watch.trustedForMs]).toEqual([[new TypeError('not a function')], TRUST])
  })

  it('a rejection that is no Error is retried, too', async () => {
    const { bench } = await beingRenewed()
    bench.store.renewals[0]!.fail('oops')
    await bench.clock.advance(100)
    expect(bench.store.renewals).toHaveLength(2)
  })

  it('an onRenewalFailed that throws harms neither the retry nor the other leases', async () => {
    const bench = new Bench()
    const leases = [new FakeLease(), new FakeLease()]
    leases[0]!.onRenewalFailed = () => {
      throw new Error('listener is broken')
    }
    for (const lease of leases) bench.watch(lease)
    await bench.clock.advance(INTERVAL)
    bench.store.renewals[0]!.fail()
    await bench.clock.advance(100)
    expect(leases[1]!.failures).toHaveLength(1)
    expect(bench.callbackErrors).toHaveLength(1)
    expect(bench.store.batches[1]).toHaveLength(2)
  })

  it('a lease without onRenewalFailed is retried all the same', async () => {
    const bench = new Bench()
    const lease = new FakeLease()
    Object.assign(lease, { onRenewalFailed: undefined })
    bench.watch(lease)
    await bench.clock.advance(INTERVAL)
    bench.store.renewals[0]!.fail()
    await bench.clock.advance(100)
    expect([bench.store.renewals.length, bench.callbackErrors]).toEqual([2, []])
  })
})
