import { describe, expect, it } from '@jest/globals'
import { trustedUntil } from '../../src/index.js'
import { beingRenewed, expectNothingLeft, TRUST, TTL, watched } from './fixture.js'

expectNothingLeft()

const SHORT = 5_000
const SHORT_TRUST = trustedUntil(0, SHORT)

describe('a lease that is shortened', () => {
  it('is trusted until then at once, is not renewed, and ends then', async () => {
    const { bench, lease, watch } = watched()
    await bench.clock.advance(1_000)
    watch.shorten(bench.clock.now(), SHORT)
    expect([watch.trustedForMs, watch.renewing]).toEqual([SHORT_TRUST, false])
    await bench.clock.advance(SHORT_TRUST)
    expect([lease.losses, bench.store.renewals]).toEqual([['expired'], []])
  })

  it('never becomes longer by it', () => {
    const { bench, watch } = watched()
    watch.shorten(bench.clock.now(), 2 * TTL)
    expect([watch.trustedForMs, watch.renewing]).toEqual([TRUST, false])
    watch.shorten(bench.clock.now(), SHORT)
    watch.shorten(bench.clock.now(), TTL)
    expect(watch.trustedForMs).toBe(SHORT_TRUST)
    watch.stop()
  })

  it('is not what a renewal in flight made it before (I3)', async () => {
    const { bench, watch } = await beingRenewed()
    expect(bench.store.renewals).toHaveLength(1)
    watch.shorten(bench.clock.now(), SHORT)
    bench.store.renewals[0]?.answer(['renewed'])
    await bench.clock.advance(0)
    expect(watch.trustedForMs).toBe(SHORT_TRUST)
    watch.stop()
  })

  it('is not trusted for longer because the store says that more is left; it is after a longer one is confirmed', async () => {
    const { bench, watch } = watched()
    watch.shorten(bench.clock.now(), SHORT)
    await bench.clock.advance(1_000)
    watch.correct(bench.clock.now(), TTL)
    expect(watch.trustedForMs).toBe(SHORT_TRUST - 1_000)
    watch.confirm(bench.clock.now(), TTL)
    expect(watch.trustedForMs).toBe(TRUST)
    watch.correct(bench.clock.now(), TTL)
    expect(watch.trustedForMs).toBe(TRUST)
    watch.stop()
  })

  it('stays suspect, until a reply to a later question, and is trusted no longer than that', async () => {
    const { bench, lease, watch } = watched()
    watch.doubt()
    await bench.clock.advance(10)
    watch.shorten(bench.clock.now(), SHORT)
    // A renewal that was asked of the store before: its reply says what the lease was.
    bench.store.renewals[0]?.answer(['renewed'])
    await bench.clock.advance(10)
    expect(watch.trustedForMs).toBe(0)
    bench.store.remainders[0]?.answer(TTL)
    await bench.clock.advance(0)
    expect(watch.trustedForMs).toBe(SHORT_TRUST - 10)
    await bench.clock.advance(SHORT)
    expect(lease.losses).toEqual(['expired'])
  })
})
