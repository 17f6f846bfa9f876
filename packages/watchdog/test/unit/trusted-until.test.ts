import { describe, expect, it } from '@jest/globals'
import { trustMarginMs } from '../../src/index.js'
import { renewalIntervalMs, resumeRenewalAt, trustedUntil } from '../../src/trusted-until.js'

describe('trust arithmetic', () => {
  it.each([
    [30_000, 350],
    [1_000, 60],
    [100, 25],
    [4, 1],
    [0, 0],
  ])('the margin of %i ms is %i ms: 50 ms + 1 %%, at most a quarter', (ttlMs, marginMs) => {
    expect(trustMarginMs(ttlMs)).toBe(marginMs)
  })

  it('I3: trust ends before the lease does, however short the lease', () => {
    for (const ttlMs of [0.5, 1, 10, 66, 67, 1_000, 86_400_000]) {
      expect(trustedUntil(500, ttlMs)).toBeLessThan(500 + ttlMs)
      expect(trustedUntil(500, ttlMs)).toBeGreaterThan(500 + renewalIntervalMs(ttlMs) * 2)
    }
  })

  it.each([
    ['much trust left: an interval from now', 30_000, 10_000],
    ['two intervals left: an interval from now', 20_000, 10_000],
    ['between one and two left: an interval before trust ends', 15_000, 5_000],
    ['less than one left: at once', 9_999, 0],
    ['trust over: at once', -1, 0],
  ])('resumed renewal with %s', (_, leftMs, expectedMs) => {
    expect(resumeRenewalAt(1_000, 1_000 + leftMs, 10_000)).toBe(1_000 + expectedMs)
  })
})
