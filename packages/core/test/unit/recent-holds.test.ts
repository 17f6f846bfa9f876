import { beforeEach, describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { RecentHolds } from '../../src/client/recent-holds.js'
import type { ReleaseReply } from '../../src/scripts/lock.js'

// How long a client stands back that has had a lock, and four others that listen, unless a row says something else.

const LOCK = { key: 'order:42', announcedOn: 'channel' }
let clock: ManualClock
let countsAll: boolean
let hearsItself: boolean
let recent: RecentHolds

beforeEach(() => {
  clock = new ManualClock(0)
  countsAll = true
  hearsItself = false
  recent = new RecentHolds({
    runtime: clock,
    runner: { countsSubscribers: () => countsAll },
    waiter: { isListening: () => hearsItself },
  })
})

const GIVEN: ReleaseReply = { kind: 'released', grantedForMs: 2_000 }
const toldTo = (heardBy: number): ReleaseReply => ({ kind: 'released', heardBy })

function had(heldMs: number, reply: ReleaseReply = toldTo(4), isListening = false): void {
  hearsItself = isListening
  ending(heldMs)
  recent.ended(LOCK, reply)
}

const ending = (heldMs: number, protocol = LOCK): void =>
  recent.ending({ protocol, lease: { heldSince: clock.now() - heldMs } }, clock.now())
const announced = (): number => Math.round(100 * recent.standsBackMs(LOCK, 'message')) / 100
const entering = (): number => recent.standsBackMs(LOCK, 'entering')
const announcements = (count: number): number[] => Array.from({ length: count }, announced)

describe('a client that has had a lock', () => {
  it('stands back for a sixth of its hold, and 10 ms at most', () => {
    const longest = [5.9, 6, 30, 60, 200].map((heldMs) => {
      had(heldMs)
      return entering()
    })
    expect(longest).toEqual([0, 1, 5, 10, 10])
  })

  it('stands back for half and more of the time until each of the others may have had it, and then not at all', () => {
    had(200)
    expect(announcements(5)).toEqual([8.75, 7.5, 6.25, 0, 0])
  })

  it('does not count what it hears of its own release, before or after the reply', () => {
    had(200, toldTo(5), true)
    expect(announcements(2)).toEqual([10, 8.75])
    ending(200)
    expect(announced()).toBe(10)
    recent.ended(LOCK, toldTo(5))
    expect(announced()).toBe(8.75)
  })

  it.each([
    ['nobody else heard of it', toldTo(1), true],
    ['nobody heard of it at all', toldTo(0), false],
  ])('tries at once where %s', (_what, reply, isListening) => {
    had(200, reply, isListening)
    expect([entering(), ...announcements(1)]).toEqual([0, 0])
  })

  it('does not believe a node of a cluster that nobody listens', () => {
    countsAll = false
    had(200, toldTo(0))
    expect(announcements(3)).toEqual([8.33, 6.67, 0])
  })

  it('keeps half of the time where the lock was granted on: turns in between are told to nobody', async () => {
    had(200, GIVEN)
    await clock.advance(50)
    expect(entering()).toBe(0)
    await clock.advance(5 * 200)
    expect(announced()).toBe(5)
  })

  it('keeps it until a second announcement: somebody keeps to no line', () => {
    had(200, GIVEN)
    expect(announcements(3)).toEqual([9.17, 6.67, 0])
  })

  it('stands back for the rest of the time when a caller comes later, until it hears that another had the lock', async () => {
    had(200)
    await clock.advance(4)
    expect(entering()).toBe(6)
    announced()
    expect(entering()).toBe(0)
  })

  it('stands back where the answer to its release is lost, for what it hears', () => {
    ending(200)
    expect([entering(), ...announcements(1)]).toEqual([0, 8.33])
  })

  it('forgets it with a short hold, and of a thousand locks the oldest', () => {
    had(200)
    had(1)
    expect(announcements(1)).toEqual([0])
    had(200)
    for (let i = 0; i < 1_000; i += 1) ending(200, { ...LOCK, key: `other:${i}` })
    expect(announcements(1)).toEqual([0])
    expect(recent.standsBackMs({ ...LOCK, key: 'other:0' }, 'message')).toBeGreaterThan(0)
  })
})

it('a client that has had no turn tries at once', () => {
  expect([entering(), ...announcements(1)]).toEqual([0, 0])
})
