import { describe, expect, it } from '@jest/globals'
import { Bench, expectNothingLeft, FakeLease, TRUST, TTL, watched } from './fixture.js'

expectNothingLeft()

const isNamed = (name: string) => (lease: FakeLease) => lease.name === name

describe('leases that are doubted', () => {
  it('are not trusted until the store has been asked again; others are as before', async () => {
    const bench = new Bench()
    const [one, other] = [bench.watch(new FakeLease('one')), bench.watch(new FakeLease('other'))]
    await bench.clock.advance(1_000)
    expect(bench.dog.doubt(isNamed('one'))).toBe(1)
    expect([one.trustedForMs, other.trustedForMs]).toEqual([0, TRUST - 1_000])
    expect(bench.store.batches).toEqual([['one']])
    await bench.answer(0, ['renewed'])
    expect(one.trustedForMs).toBe(TRUST)
  })

  it('leases that are doubted that are not renewed are trusted for what the store still keeps', async () => {
    const { bench, watch } = watched({ renew: false })
    await bench.clock.advance(1)
    bench.dog.doubt(() => true)
    await bench.remain(0, 1_000)
    expect(watch.trustedForMs).toBe(940)
    await bench.clock.advance(940)
  })

  it('an answer to what was asked before, or granted before, proves nothing', async () => {
    const bench = new Bench()
    const watch = bench.watch(new FakeLease('before'))
    const sentAt = bench.clock.now()
    await bench.clock.advance(10)
    bench.dog.doubt(() => true)
    watch.confirm(sentAt, TTL)
    watch.correct(sentAt, TTL)
    const late = bench.watch(new FakeLease('late'), { sentAt })
    expect([watch.trustedForMs, late.trustedForMs]).toEqual([0, 0])
    bench.renewAll()
    await bench.clock.advance(1_000)
    bench.store.renewals.forEach((call) => call.answer(call.leases.map(() => 'renewed' as const)))
    await bench.clock.settle()
    expect(watch.trustedForMs).toBeGreaterThan(0)
    expect(late.trustedForMs).toBeGreaterThan(0)
  })

  it('one after the other: what was granted before the first of them is doubted still, and nothing else is', async () => {
    const bench = new Bench()
    const sentAt = bench.clock.now()
    await bench.clock.advance(10)
    const between = bench.clock.now()
    await bench.clock.advance(10)
    bench.dog.doubt(isNamed('one'), between)
    bench.dog.doubt(isNamed('two'))
    // The latest doubt is about this one.
    bench.dog.doubt(isNamed('three'), between)
    const late = ['one', 'two', 'three', 'four'].map((name) => bench.watch(new FakeLease(name), { sentAt }))
    expect(late.map((watch) => watch.trustedForMs > 0)).toEqual([false, false, false, true])
    const later = ['one', 'two', 'three'].map((name) => bench.watch(new FakeLease(name), { sentAt: between }))
    expect(later.map((watch) => watch.trustedForMs > 0)).toEqual([true, false, true])
    for (const watch of [...late, ...later]) watch.stop()
  })

  it('leases that are doubted of which one is heard after a jump that came after it: what was sent before the jump proves nothing', async () => {
    const { bench, watch } = watched()
    await bench.clock.advance(10)
    const since = bench.clock.now()
    await bench.clock.advance(10)
    const sentAt = bench.clock.now()
    await bench.clock.advance(10)
    bench.clock.stepWall(60_000)
    expect(watch.trustedForMs).toBe(0)
    bench.dog.doubt(() => true, since)
    watch.confirm(sentAt, TTL)
    expect(watch.trustedForMs).toBe(0)
    watch.stop()
  })

  it('are not those whose answer was asked for after the time that is named', async () => {
    const bench = new Bench()
    const [asked, silent] = [bench.watch(new FakeLease('asked')), bench.watch(new FakeLease('silent'))]
    await bench.clock.advance(10)
    const since = bench.clock.now()
    asked.correct(since, TTL)
    await bench.clock.advance(10)
    expect(bench.dog.doubt(() => true, since)).toBe(1)
    expect([asked.trustedForMs, silent.trustedForMs]).toEqual([TRUST - 10, 0])
    await bench.answer(0, ['renewed'])
    asked.stop()
    silent.stop()
  })

  it('leases that are doubted that the store does not know are lost', async () => {
    const { bench, lease } = watched()
    await bench.clock.advance(1)
    bench.dog.doubt(() => true)
    await bench.answer(0, ['lost'])
    expect([lease.losses, bench.dog.size]).toEqual([['refused'], 0])
  })

  it('nothing is asked after the end', async () => {
    const { bench } = watched()
    await bench.dog.close()
    expect(bench.dog.doubt(() => true)).toBe(0)
    expect(bench.store.renewals).toEqual([])
  })
})

describe('what the store says without mayGrow', () => {
  it('shortens trust and never lengthens it', () => {
    const { bench, watch } = watched()
    watch.correct(bench.clock.now(), 2 * TTL, { mayGrow: false })
    expect(watch.trustedForMs).toBe(TRUST)
    watch.correct(bench.clock.now(), 1_000, { mayGrow: false })
    expect(watch.trustedForMs).toBe(940)
    watch.stop()
  })

  it('counts in full where nothing was trusted', async () => {
    const { bench, watch } = watched({ renew: false })
    await bench.clock.advance(1)
    bench.dog.doubt(() => true)
    watch.correct(bench.clock.now(), TTL, { mayGrow: false })
    expect(watch.trustedForMs).toBe(TRUST)
    watch.stop()
  })
})

describe('a watch that is doubted by itself', () => {
  it('is asked about at once, one question at a time, and trusted again when the store has answered', async () => {
    const bench = new Bench()
    const [one, other] = [bench.watch(new FakeLease('one')), bench.watch(new FakeLease('other'))]
    await bench.clock.advance(1_000)
    one.doubt()
    one.doubt()
    expect([one.trustedForMs, one.suspect, other.suspect]).toEqual([0, true, false])
    expect(bench.store.batches).toEqual([['one']])
    await bench.answer(0, ['renewed'])
    expect([one.trustedForMs, one.suspect]).toEqual([TRUST, false])
  })

  it.each([true, false])(
    'while a question is on its way, whose answer may be older: asked again behind it (I1), renewed: %s',
    async (renew) => {
      const bench = new Bench()
      const lease = new FakeLease('one')
      const watch = bench.watch(lease, { renew })
      watch.doubt()
      await bench.clock.advance(10)
      watch.doubt()
      const { renewals, remainders } = bench.store
      const questions = renew ? renewals : remainders
      expect(questions).toHaveLength(1)
      renewals[0]?.answer(['renewed'])
      remainders[0]?.answer(TTL)
      await bench.clock.settle()
      expect([watch.trustedForMs, watch.suspect]).toEqual([0, true])
      expect(questions).toHaveLength(2)
      renewals[1]?.answer(['lost'])
      remainders[1]?.answer(null)
      await bench.clock.settle()
      expect(lease.losses).toEqual(['refused'])
    },
  )

  it('is lost when the store says so, and suspect still; doubted afterwards it asks nothing', async () => {
    const bench = new Bench()
    const lease = new FakeLease('one')
    const watch = bench.watch(lease)
    watch.doubt()
    await bench.answer(0, ['lost'])
    expect(lease.losses).toEqual(['refused'])
    expect(watch.suspect).toBe(true)
    watch.doubt()
    expect(bench.store.batches).toEqual([['one']])
  })
})
