import { describe, expect, it } from '@jest/globals'
import { pauseAfterFailure, pauseAfterRefusal } from '../../src/retry-pause.js'

describe('the pause after a refusal', () => {
  it.each([
    ['without a hint is a resync', undefined, 1_000],
    ['follows the hint', 300, 300],
    ['is never longer than a resync', 30_000, 1_000],
    ['is never shorter than 1 ms', 0, 1],
    ['ignores a negative hint', -2, 1_000],
    ['ignores a hint that is no number', NaN, 1_000],
    ['survives an endless hint', Infinity, 1_000],
  ])('%s', (_name, hint, expected) => {
    expect(pauseAfterRefusal(hint, 1_000)).toBe(expected)
  })
})

describe('the pause after no answer', () => {
  it('doubles from 50 ms and stops growing at a resync', () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7, 5_000].map((failures) => pauseAfterFailure(failures, 1_000, 1))
    expect(pauses).toEqual([50, 100, 200, 400, 800, 1_000, 1_000, 1_000])
  })

  it.each([
    ['a resync', 500, 500],
    ['a second, where a resync is longer', 20_000, 1_000],
  ])('is never longer than %s', (_what, resyncMs, longestMs) => {
    expect(pauseAfterFailure(40, resyncMs, 1)).toBe(longestMs)
  })

  it('spreads over its upper half', () => {
    expect(pauseAfterFailure(1, 1_000, 0)).toBe(25)
    expect(pauseAfterFailure(1, 1_000, 0.5)).toBe(37.5)
  })

  it('is never shorter than 1 ms', () => {
    expect(pauseAfterFailure(1, 0.5, 0)).toBe(1)
  })
})
