import { beforeEach, describe, expect, it } from '@jest/globals'
import { InFlightCounter } from '../../src/redis/in-flight-counter.js'
import { systemRuntime } from '../../src/runtime/runtime.js'

let underWay: InFlightCounter
let nowMs: number

beforeEach(() => {
  nowMs = 0
  underWay = new InFlightCounter({ ...systemRuntime, now: () => nowMs })
})

/** So many commands leave one after the other, and each is answered after so long. */
const travel = (times: number, ms: number): void => {
  for (let i = 0; i < times; i += 1) {
    underWay.sent(1)
    nowMs += ms
    underWay.settled(1, nowMs)
  }
}

/** The smallest number that leaves before the turn ends, of up to `most` that are asked. */
const leavesWith = (most: number): number | undefined =>
  Array.from({ length: most }, (_, i) => i + 1).find((gathered) => underWay.isEnough(gathered))

describe('commands leave before the turn ends', () => {
  it.each([
    [16, 4],
    [33, 9],
    [100, 25],
  ])('when they are a quarter of %i callers that were resumed, until few are left', (callers, quarter) => {
    underWay.sent(callers)
    underWay.settled(callers, nowMs)
    for (let left = callers; left > quarter; left -= quarter) {
      expect(leavesWith(callers)).toBe(quarter)
      underWay.sent(quarter)
    }
    expect(leavesWith(callers)).toBeUndefined()
  })

  it('when they are a quarter of what is under way and what is still to be asked', () => {
    underWay.sent(100)
    underWay.settled(60, nowMs)
    expect(leavesWith(60)).toBe(25)
  })

  it('one by one where there are few, but for the last', () => {
    underWay.sent(13)
    underWay.settled(13, nowMs)
    for (let i = 0; i < 12; i += 1) {
      expect(leavesWith(13)).toBe(1)
      underWay.sent(1)
    }
    expect(leavesWith(13)).toBeUndefined()
  })
})

describe('commands wait for the end of the turn', () => {
  it('when nothing is under way: a burst stays together', () => {
    expect(leavesWith(64)).toBeUndefined()
  })

  it('when one caller asks for more than it was answered', () => {
    underWay.sent(1)
    underWay.settled(1, nowMs)
    expect(leavesWith(64)).toBeUndefined()
  })

  it('when what is under way was not answered in this turn', async () => {
    underWay.sent(40)
    underWay.settled(20, nowMs)
    await new Promise((resolve) => process.nextTick(resolve))
    expect(leavesWith(64)).toBeUndefined()
  })
})

describe('callers that go on once they are written', () => {
  /** So many are answered, of as many and some more. */
  const answer = (callers: number, others = 0): void => {
    underWay.sent(callers + others)
    nowMs += 1
    underWay.settled(callers, nowMs)
  }

  it('leave in two halves where nothing else is under way, and so they do again', () => {
    answer(10)
    underWay.resumedGoOn()
    expect(leavesWith(10)).toBe(5)
    underWay.sent(5)
    underWay.resumedGoOn()
    expect(leavesWith(10)).toBeUndefined()
    underWay.sent(5)
    underWay.goOn(10)
    expect(leavesWith(10)).toBe(5)
    underWay.sent(5)
    // Whoever else asks in this turn leaves with the second half.
    expect(leavesWith(64)).toBeUndefined()
  })

  it.each([
    [5, 5],
    [5, 4],
    [1, 0],
  ])('leave together, %i of them, where %i others are under way', (callers, others) => {
    answer(callers, others)
    underWay.resumedGoOn()
    expect(leavesWith(64)).toBeUndefined()
    underWay.sent(callers)
    underWay.goOn(callers)
    expect(leavesWith(64)).toBeUndefined()
  })

  it('leave together where they are few and have far to go', () => {
    travel(32, 1)
    answer(13)
    underWay.resumedGoOn()
    expect(leavesWith(64)).toBeUndefined()
    answer(14)
    underWay.resumedGoOn()
    expect(leavesWith(64)).toBe(7)
  })

  it('are halves until the turn ends', async () => {
    const turnEnds = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve))
    answer(4)
    underWay.resumedGoOn()
    expect(leavesWith(64)).toBe(2)
    await turnEnds()
    expect(leavesWith(64)).toBeUndefined()
    underWay.sent(4)
    underWay.goOn(4)
    expect(leavesWith(64)).toBe(2)
    await turnEnds()
    expect(leavesWith(64)).toBeUndefined()
  })
})

describe('few commands with far to go', () => {
  // Thirteen were resumed: these have not asked yet.
  const resume = (): void => {
    underWay.sent(13)
    nowMs += 1
    underWay.settled(13, nowMs)
  }

  it('wait for the end of the turn, as soon as thirty-two round trips have shown how far it is', () => {
    travel(30, 1)
    resume()
    expect(leavesWith(13)).toBe(1)
    resume()
    expect(leavesWith(13)).toBeUndefined()
  })

  it('leave one by one where one of the latest trips was short: others were longer because of a queue', () => {
    travel(32, 1)
    travel(1, 0.2)
    travel(20, 1)
    resume()
    expect(leavesWith(13)).toBe(1)
    travel(32, 1)
    resume()
    expect(leavesWith(13)).toBeUndefined()
  })

  it('measure one trip at a time, until its own reply: what was sent before it is answered first', () => {
    travel(16, 1)
    underWay.sent(12)
    nowMs += 0.5
    underWay.settled(11, nowMs)
    underWay.sent(1)
    nowMs += 0.1
    underWay.settled(1, nowMs)
    underWay.settled(1, nowMs)
    travel(15, 1)
    // The trip of the twelve took 0.6 ms, and none took 0.1.
    resume()
    expect(leavesWith(13)).toBeUndefined()
  })

  it('are many from fourteen on, however far it is', () => {
    travel(40, 1)
    underWay.sent(16)
    underWay.settled(16, nowMs)
    expect(leavesWith(16)).toBe(4)
  })
})
