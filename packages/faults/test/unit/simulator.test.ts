import { describe, expect, test } from '@jest/globals'
import { LOCK_KINDS, play, planOf } from '../../src/simulator/index.js'

describe('a simulated world', () => {
  test.each([1, 2, 3, 4, 5, 6])('is the same again from the same seed, bit by bit: %i', async (seed) => {
    const first = await play(planOf(seed))
    const second = await play(planOf(seed))

    expect(first.figures.acquisitions).toBeGreaterThan(0)
    expect(second.events).toEqual(first.events)
    expect(second.hash).toBe(first.hash)
  })

  test('is another from another seed', async () => {
    const [first, second] = [await play(planOf(1)), await play(planOf(2))]

    expect(second.hash).not.toBe(first.hash)
  })

  test.each([1, 2, 3, 4, 5, 6])('without faults breaks no rule: %i', async (seed) => {
    const { findings } = await play(planOf(seed, { kinds: LOCK_KINDS, faults: [] }))

    expect(findings).toEqual([])
  })
})
