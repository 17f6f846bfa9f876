import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { SuspensionDetector } from '../../src/suspension-detector.js'

describe('SuspensionDetector', () => {
  it('clocks that run together are no jump', async () => {
    const clock = new ManualClock()
    const detector = new SuspensionDetector(clock)
    await clock.advance(3_600_000)
    expect(detector.look()).toBe(false)
    expect(detector.jumpedAt).toBe(-Infinity)
  })

  it('a wall clock more than 50 ms ahead is a jump, found once', async () => {
    const clock = new ManualClock()
    const detector = new SuspensionDetector(clock)
    await clock.advance(10)
    clock.stepWall(51)
    expect(detector.look()).toBe(true)
    expect(detector.jumpedAt).toBe(clock.now())
    expect(detector.look()).toBe(false)
  })

  it('a drift of 50 ms or less between two looks only moves the offset', () => {
    const clock = new ManualClock()
    const detector = new SuspensionDetector(clock)
    for (let look = 0; look < 10; look += 1) {
      clock.stepWall(50)
      expect(detector.look()).toBe(false)
    }
  })

  it('a wall clock set back is no jump, and the way forward from there is', () => {
    const clock = new ManualClock()
    const detector = new SuspensionDetector(clock)
    clock.stepWall(-100_000)
    expect(detector.look()).toBe(false)
    clock.stepWall(60)
    expect(detector.look()).toBe(true)
  })

  it('a look that straddles a pause of the process says nothing, and the next one does', () => {
    const monotonic = [0, 100, 106, 107, 107]
    const wall = [1_000, 2_000, 2_107]
    const detector = new SuspensionDetector({
      now: () => monotonic.shift()!,
      wallNow: () => wall.shift()!,
      setTimer: () => ({ cancel: () => undefined }),
    })
    expect(detector.look()).toBe(false)
    expect(detector.look()).toBe(true)
  })
})
