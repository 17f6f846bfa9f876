import { beforeEach, describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/testing'
import { EventHub, type LockEvents } from '../../src/events.js'
import { Waits, type Wait } from '../../src/waits.js'

let clock: ManualClock
let events: EventHub
let heard: LockEvents['waiting'][]
let resumed: number

const waitsOf = (thresholdMs: number): Waits =>
  new Waits(events, clock, thresholdMs, () => {
    resumed += 1
  })
const wait = (lockName: string): Wait => ({ lockName, startedAt: clock.now() })
const listen = (): void => {
  events.on('waiting', (event) => heard.push(event))
}
const names = (): string[] => heard.map(({ lockName }) => lockName)

beforeEach(() => {
  clock = new ManualClock()
  events = new EventHub()
  heard = []
  resumed = 0
})

describe('waits that are told of', () => {
  it('without a threshold: at once, without a timer', () => {
    listen()
    waitsOf(0).parked(wait('a'), { ahead: 3 })
    expect(heard).toEqual([
      { lockName: 'a', holder: undefined, waitedMs: 0, placeInLine: undefined, aheadHere: 3 },
    ])
    expect(clock.pendingTimers).toBe(0)
  })

  it('nobody listens: no timer, and nothing is told later', async () => {
    const waits = waitsOf(100)
    const unheard = wait('a')
    waits.parked(unheard, { ahead: 0 })
    expect(clock.pendingTimers).toBe(0)
    listen()
    await clock.advance(1_000)
    waits.ended(unheard)
    expect(heard).toEqual([])
  })

  it('one timer for all, each told when it is due, with what is known then', async () => {
    listen()
    const waits = waitsOf(100)
    let placeInLine = 7
    waits.parked({ ...wait('a'), explain: () => ({ holder: undefined, placeInLine }) }, { ahead: 0 })
    await clock.advance(60)
    waits.parked(wait('b'), { ahead: 0 })
    waits.parked(wait('c'), { ahead: 1 })
    expect(clock.pendingTimers).toBe(1)
    placeInLine = 2
    await clock.advance(40)
    expect(heard).toMatchObject([{ lockName: 'a', waitedMs: 100, placeInLine: 2 }])
    expect(clock.pendingTimers).toBe(1)
    await clock.advance(60)
    expect(names()).toEqual(['a', 'b', 'c'])
    expect(clock.pendingTimers).toBe(0)
    await clock.advance(1_000)
    expect(heard).toHaveLength(3)
  })

  it('one that ends before is not told of, and the last one takes the timer with it', async () => {
    listen()
    const waits = waitsOf(100)
    const [a, b] = [wait('a'), wait('b')]
    waits.parked(a, { ahead: 0 })
    waits.parked(b, { ahead: 0 })
    waits.ended(a)
    expect(clock.pendingTimers).toBe(1)
    waits.ended(b)
    waits.ended(b)
    expect(clock.pendingTimers).toBe(0)
    await clock.advance(1_000)
    expect(heard).toEqual([])
  })

  it('a listener that ends waits: they are not told of any more', async () => {
    const waits = waitsOf(100)
    const [a, b] = [wait('a'), wait('b')]
    listen()
    events.on('waiting', () => waits.ended(b))
    waits.parked(a, { ahead: 0 })
    waits.parked(b, { ahead: 0 })
    await clock.advance(100)
    expect(names()).toEqual(['a'])
    expect(clock.pendingTimers).toBe(0)
  })

  it('after a pause the trust in holds is looked at before any listener hears (I3)', async () => {
    listen()
    const seen: number[] = []
    events.on('waiting', () => seen.push(resumed))
    waitsOf(100).parked(wait('a'), { ahead: 0 })
    await clock.advance(5_000)
    expect(seen).toEqual([1])
  })
})
