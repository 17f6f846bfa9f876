import { describe, expect, test } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'

const record = () => {
  const fired: string[] = []
  return { fired, mark: (name: string) => () => void fired.push(name) }
}

describe('ManualClock', () => {
  test('starts at the given time and stands still until it is advanced', async () => {
    const clock = new ManualClock(5_000)
    await clock.settle()
    expect([clock.now(), clock.wallNow()]).toEqual([5_000, 5_000])
    await clock.advance(250)
    expect([clock.now(), clock.wallNow()]).toEqual([5_250, 5_250])
    expect(new ManualClock().now()).toBe(1_000)
  })

  test('fires by due time, then by order of setting, and only what is due', async () => {
    const clock = new ManualClock()
    const { fired, mark } = record()
    clock.setTimer(30, mark('c'))
    clock.setTimer(10, mark('a1'))
    clock.setTimer(10, mark('a2'))
    clock.setTimer(31, mark('later'))
    await clock.advance(30)
    expect(fired).toEqual(['a1', 'a2', 'c'])
    expect(clock.pendingTimers).toBe(1)
    await clock.advance(1)
    expect(fired).toEqual(['a1', 'a2', 'c', 'later'])
    expect(clock.pendingTimers).toBe(0)
  })

  test('a timer sees its own due time', async () => {
    const clock = new ManualClock(0)
    const seen: number[] = []
    clock.setTimer(10, () => void seen.push(clock.now(), clock.wallNow()))
    await clock.advance(1_000)
    expect(seen).toEqual([10, 10])
  })

  test('timers that are set while it advances fire in the same advance when due', async () => {
    const clock = new ManualClock(0)
    const seen: number[] = []
    const tick = (): void => {
      seen.push(clock.now())
      clock.setTimer(10, tick)
    }
    clock.setTimer(10, tick)
    await clock.advance(35)
    expect(seen).toEqual([10, 20, 30])
    expect(clock.pendingTimers).toBe(1)
  })

  test('promise reactions and immediates of one timer run before the next timer', async () => {
    const clock = new ManualClock()
    const { fired, mark } = record()
    const followUp = async (): Promise<void> => {
      await Promise.resolve()
      await new Promise((resolve) => void setImmediate(resolve))
      fired.push('follow-up')
    }
    clock.setTimer(10, () => void followUp())
    clock.setTimer(10, mark('next'))
    await clock.advance(10)
    expect(fired).toEqual(['follow-up', 'next'])
  })

  test('a cancelled timer does not fire, also when a sibling of the same instant cancels it', async () => {
    const clock = new ManualClock()
    const { fired, mark } = record()
    const early = clock.setTimer(5, mark('early'))
    clock.setTimer(10, () => sibling.cancel())
    const sibling = clock.setTimer(10, mark('sibling'))
    early.cancel()
    early.cancel()
    expect(clock.pendingTimers).toBe(2)
    await clock.advance(10)
    expect(fired).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })

  test('a delay of zero or less fires at the next advance, even of zero', async () => {
    const clock = new ManualClock()
    const { fired, mark } = record()
    clock.setTimer(0, mark('zero'))
    clock.setTimer(-5, mark('negative'))
    await clock.settle()
    expect(fired).toEqual([])
    await clock.advance(0)
    expect(fired).toEqual(['zero', 'negative'])
  })

  test('pass moves both clocks at once, and what is due then fires with the next advance', async () => {
    const clock = new ManualClock(0)
    let firedAt: number | undefined
    clock.setTimer(10, () => (firedAt = clock.now()))
    clock.pass(25)
    expect([clock.now(), clock.wallNow(), firedAt]).toEqual([25, 25, undefined])
    await clock.advance(0)
    expect(firedAt).toBe(25)
  })

  test('stepWall moves the wall clock alone, and timers follow the monotonic one', async () => {
    const clock = new ManualClock(1_000)
    const { fired, mark } = record()
    clock.setTimer(10, mark('timer'))
    clock.stepWall(3_600_000)
    await clock.advance(0)
    expect(fired).toEqual([])
    expect([clock.now(), clock.wallNow()]).toEqual([1_000, 3_601_000])
    clock.stepWall(-3_600_000)
    await clock.advance(10)
    expect(clock.wallNow()).toBe(1_010)
  })
})
