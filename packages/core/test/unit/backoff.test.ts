import { describe, expect, it } from '@jest/globals'
import { InvalidArgumentError } from '../../src/errors.js'
import { backoffOf, type SpinLockOptions } from '../../src/kinds/backoff.js'

// Redisson's LockOptionsTest (testExponentialBackoff, testConstantBackoff), of pauses whose jitter is ours.

const pauses = (options: SpinLockOptions | undefined, random: number, count: number): number[] => {
  const backoff = backoffOf(options)
  return Array.from({ length: count }, (_, i) => backoff(i + 1, () => random))
}

describe('a back-off', () => {
  it('is exponential by default: from 1 ms, doubled, up to 128 ms, of which jitter leaves half to all', () => {
    const whole = [1, 2, 4, 8, 16, 32, 64, 128, 128, 128]
    expect(pauses(undefined, 0, 10)).toEqual(whole.map((ms) => ms / 2))
    expect(pauses({}, 0.5, 10)).toEqual(whole.map((ms) => ms * 0.75))
    expect(pauses({ backoff: { kind: 'exponential' } }, 1, 10)).toEqual(whole)
  })

  it('grows by its factor from its first pause to its longest', () => {
    const backoff = { kind: 'exponential', initialMs: 10, maxMs: 200, factor: 3 } as const
    expect(pauses({ backoff }, 1, 6)).toEqual([10, 30, 90, 200, 200, 200])
    expect(pauses({ backoff: { ...backoff, factor: 1 } }, 1, 3)).toEqual([10, 10, 10])
  })

  it('fits a default to what is given', () => {
    expect(pauses({ backoff: { kind: 'exponential', initialMs: 500 } }, 1, 3)).toEqual([500, 500, 500])
    expect(pauses({ backoff: { kind: 'exponential', maxMs: 0.5 } }, 1, 2)).toEqual([0.5, 0.5])
  })

  it('has an end after any number of refusals', () => {
    const backoff = backoffOf({ backoff: { kind: 'exponential', factor: 1e300 } })
    expect([1, 2, 3, 1e6, Number.MAX_SAFE_INTEGER].map((n) => backoff(n, () => 1))).toEqual([
      1, 128, 128, 128, 128,
    ])
  })

  it('is constant where that is wanted, 64 ms by default, without jitter', () => {
    expect(pauses({ backoff: { kind: 'constant' } }, 0, 3)).toEqual([64, 64, 64])
    expect(pauses({ backoff: { kind: 'constant', delayMs: 7 } }, 0.9, 3)).toEqual([7, 7, 7])
  })

  const wrong: [string, unknown, unknown][] = [
    ['options', null, null],
    ['options', 64, 64],
    ['backoff', { backoff: 64 }, 64],
    ['backoff', { backoff: null }, null],
    ['backoff.kind', { backoff: {} }, undefined],
    ['backoff.kind', { backoff: { kind: 'linear' } }, 'linear'],
    ['delayMs', { backoff: { kind: 'constant', delayMs: 0 } }, 0],
    ['delayMs', { backoff: { kind: 'constant', delayMs: '64' } }, '64'],
    ['delayMs', { backoff: { kind: 'constant', delayMs: null } }, null],
    ['initialMs', { backoff: { kind: 'exponential', initialMs: 0 } }, 0],
    ['initialMs', { backoff: { kind: 'exponential', initialMs: NaN } }, NaN],
    ['initialMs', { backoff: { kind: 'exponential', initialMs: 129, maxMs: 128 } }, 129],
    ['maxMs', { backoff: { kind: 'exponential', maxMs: -1 } }, -1],
    ['maxMs', { backoff: { kind: 'exponential', maxMs: Infinity } }, Infinity],
    ['factor', { backoff: { kind: 'exponential', factor: 0.9 } }, 0.9],
    ['factor', { backoff: { kind: 'exponential', factor: '2' } }, '2'],
    ['factor', { backoff: { kind: 'exponential', factor: Infinity } }, Infinity],
  ]
  it.each(wrong)('refuses a wrong %s: %j', (argument, options, value) => {
    const call = (): unknown => backoffOf(options as SpinLockOptions)
    expect(call).toThrow(InvalidArgumentError)
    expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', argument, value }))
  })
})
