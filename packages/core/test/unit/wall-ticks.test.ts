import { describe, expect, it } from '@jest/globals'
import { WallTicks } from '../../src/entries/schedule/wall-ticks.js'

describe('the tick of a call by the clock', () => {
  it.each([
    ['on time', 0, 50_000],
    ['late by nine tenths', 899, 50_000],
    ['later than that, which is early for the next', 900, 51_000],
    ['early by a tenth', -100, 50_000],
    ['earlier than that, which is late for the one before', -101, 49_000],
  ])('is the multiple of everyMs for one %s', (_how, lateMs, tick) => {
    expect(new WallTicks(1_000).next(50_000 + lateMs)).toBe(tick)
  })

  it('is a minute early at most, however long everyMs is', () => {
    const day = 86_400_000
    expect([1, 60_000, 60_001].map((early) => new WallTicks(day).next(5 * day - early) / day)).toEqual([
      5, 5, 4,
    ])
  })

  it('is refused to a process that calls twice for one, and not where the second call is a whole tick later', () => {
    const ticks = new WallTicks(1_000)
    ticks.next(50_000)
    expect(() => ticks.next(50_400)).toThrow(/everyMs.* called again after 400 ms/)
    // Called again soon after a tick whose call was late: two ticks.
    expect([new WallTicks(1_000)].flatMap((each) => [each.next(49_950), each.next(50_850)])).toEqual([
      50_000, 50_000,
    ])
  })
})
