import { beforeEach, describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { FixedDelayQueue } from '../../src/runtime/fixed-delay-queue.js'

let clock: ManualClock
let heard: string[]

beforeEach(() => {
  clock = new ManualClock()
  heard = []
})

const queueOf = (
  due: (key: string, value: number) => void = () => undefined,
): FixedDelayQueue<string, number> =>
  new FixedDelayQueue(clock, {
    delayMs: 100,
    beforeDue: () => heard.push('before'),
    due: (key, value) => {
      heard.push(`${key}${value}`)
      due(key, value)
    },
  })

describe('a queue of one fixed delay', () => {
  it('each entry comes due after it, once, with one timer for all', async () => {
    const queue = queueOf()
    queue.add('a', 1)
    await clock.advance(60)
    queue.add('b', 2)
    expect(clock.pendingTimers).toBe(1)
    await clock.advance(40)
    expect(heard).toEqual(['before', 'a1'])
    expect(clock.pendingTimers).toBe(1)
    await clock.advance(60)
    expect(heard).toEqual(['before', 'a1', 'before', 'b2'])
    await clock.advance(1_000)
    expect(heard).toHaveLength(4)
    expect(clock.pendingTimers).toBe(0)
  })

  it('what is added again begins anew, and does not hold up what was added before', async () => {
    const queue = queueOf()
    queue.add('a', 1)
    queue.add('b', 2)
    await clock.advance(60)
    queue.add('a', 3)
    await clock.advance(40)
    expect(heard).toEqual(['before', 'b2'])
    await clock.advance(60)
    expect(heard).toEqual(['before', 'b2', 'before', 'a3'])
  })

  it('what is removed never comes due, and the last one takes the timer with it', async () => {
    const queue = queueOf()
    queue.add('a', 1)
    queue.add('b', 2)
    queue.remove('a')
    queue.remove('unknown')
    expect(clock.pendingTimers).toBe(1)
    queue.remove('b')
    expect(clock.pendingTimers).toBe(0)
    await clock.advance(1_000)
    expect(heard).toEqual([])
  })

  it('an entry may be added again, and another removed, while one is due', async () => {
    const queue = queueOf((key) => {
      if (key === 'a') {
        queue.remove('b')
        queue.add('c', 3)
      }
    })
    queue.add('a', 1)
    queue.add('b', 2)
    await clock.advance(100)
    expect(heard).toEqual(['before', 'a1'])
    await clock.advance(100)
    expect(heard).toEqual(['before', 'a1', 'before', 'c3'])
    expect(clock.pendingTimers).toBe(0)
  })
})
