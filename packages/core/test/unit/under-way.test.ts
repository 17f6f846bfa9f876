import { beforeEach, describe, expect, it } from '@jest/globals'
import { UnderWay } from '../../src/redis/under-way.js'
import { systemRuntime } from '../../src/runtime/runtime.js'

let underWay: UnderWay

beforeEach(() => {
  underWay = new UnderWay(systemRuntime)
})

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
    underWay.settled(callers)
    for (let left = callers; left > quarter; left -= quarter) {
      expect(leavesWith(callers)).toBe(quarter)
      underWay.sent(quarter)
    }
    expect(leavesWith(callers)).toBeUndefined()
  })

  it('when they are a quarter of what is under way and what is still to be asked', () => {
    underWay.sent(100)
    underWay.settled(60)
    expect(leavesWith(60)).toBe(25)
  })

  it('one by one where there are few, but for the last', () => {
    underWay.sent(13)
    underWay.settled(13)
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
    underWay.settled(1)
    expect(leavesWith(64)).toBeUndefined()
  })

  it('when what is under way was not answered in this turn', async () => {
    underWay.sent(40)
    underWay.settled(20)
    await new Promise((resolve) => process.nextTick(resolve))
    expect(leavesWith(64)).toBeUndefined()
  })
})
