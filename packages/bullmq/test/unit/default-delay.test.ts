import { describe, expect, it } from '@jest/globals'
import { defaultDelay } from '../../src/default-delay.js'

describe('the delay of a job after a conflict, where nobody says', () => {
  it('grows from 50 ms to a second with each start', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 5_000].map((started) => defaultDelay(started, 0))).toEqual([
      50, 100, 200, 400, 800, 1_000, 1_000, 1_000,
    ])
  })

  it('is less by a random part: jobs that were refused together come back apart', () => {
    expect([0, 0.25, 0.5, 0.99].map((random) => defaultDelay(6, random))).toEqual([1_000, 875, 750, 505])
  })

  it('is one that BullMQ takes, also for a job that tells no start', () => {
    expect(defaultDelay(0, 0.999)).toBe(25)
  })
})
