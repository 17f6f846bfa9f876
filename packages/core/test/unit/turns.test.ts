import { beforeEach, describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { Turns } from '../../src/queue/turns.js'
import type { ReleaseReply } from '../../src/scripts/lock.js'

// How long a client stands back that has had a lock, and three others that listen, unless a row says something else.

const [KEY, CHANNEL] = ['order:42', 'channel']
let clock: ManualClock
let countsAll: boolean
let turns: Turns

beforeEach(() => {
  clock = new ManualClock(0)
  countsAll = true
  turns = new Turns(clock, { countsSubscribers: () => countsAll })
})

const GIVEN: ReleaseReply = { kind: 'released', givenForMs: 2_000 }
const toldTo = (heardBy: number): ReleaseReply => ({ kind: 'released', heardBy })

function had(heldMs: number, reply: ReleaseReply = toldTo(3), isListening = false): void {
  turns.ending(KEY, heldMs, { isListening: () => isListening })
  turns.ended(KEY, CHANNEL, reply)
}

const announcements = (count: number): number[] => Array.from({ length: count }, () => turns.announced(KEY))

describe('a client that has had a lock', () => {
  it('stands back for a sixth of its hold, and 10 ms at most', () => {
    const longest = [5.9, 6, 30, 60, 200].map((heldMs) => {
      had(heldMs)
      return turns.beforeEntering(KEY)
    })
    expect(longest).toEqual([0, 1, 5, 10, 10])
  })

  it('stands back the less the more often others had it since, and then not at all', () => {
    had(200)
    expect(announcements(5)).toEqual([7.5, 5, 2.5, 0, 0])
  })

  it('does not count what it hears of its own release, before or after the reply', () => {
    had(200, toldTo(4), true)
    expect(announcements(2)).toEqual([10, 7.5])
    turns.ending(KEY, 200, { isListening: () => true })
    expect(turns.announced(KEY)).toBe(10)
    turns.ended(KEY, CHANNEL, toldTo(4))
    expect(turns.announced(KEY)).toBe(7.5)
  })

  it.each([
    ['nobody else heard of it', toldTo(1), true],
    ['nobody heard of it at all', toldTo(0), false],
  ])('tries at once where %s', (_what, reply, isListening) => {
    had(200, reply, isListening)
    expect([turns.beforeEntering(KEY), ...announcements(1)]).toEqual([0, 0])
  })

  it('does not believe a node of a cluster that nobody listens', () => {
    countsAll = false
    had(200, toldTo(0))
    expect(announcements(2)).toEqual([7.5, 5])
  })

  it('keeps half of the time where the lock was given on: turns in between are told to nobody', async () => {
    had(200, GIVEN)
    await clock.advance(50)
    expect(turns.beforeEntering(KEY)).toBe(0)
    await clock.advance(5 * 200)
    expect(turns.announced(KEY)).toBe(5)
  })

  it('keeps it until a second announcement: somebody keeps to no line', () => {
    had(200, GIVEN)
    expect(announcements(3)).toEqual([8.75, 5, 2.5])
  })

  it('stands back for the rest of the time when a caller comes later, until it hears that another had the lock', async () => {
    had(200)
    await clock.advance(4)
    expect(turns.beforeEntering(KEY)).toBe(6)
    turns.announced(KEY)
    expect(turns.beforeEntering(KEY)).toBe(0)
  })

  it('stands back where the answer to its release is lost, for what it hears', () => {
    turns.ending(KEY, 200, { isListening: () => false })
    expect([turns.beforeEntering(KEY), ...announcements(1)]).toEqual([0, 7.5])
  })

  it('forgets it with a short hold, and of a thousand locks the oldest', () => {
    had(200)
    had(1)
    expect(announcements(1)).toEqual([0])
    had(200)
    for (let i = 0; i < 1_000; i += 1) turns.ending(`other:${i}`, 200, { isListening: () => false })
    expect(announcements(1)).toEqual([0])
    expect(turns.announced('other:0')).toBeGreaterThan(0)
  })
})

it('a client that has had no turn tries at once', () => {
  expect([turns.beforeEntering(KEY), ...announcements(1)]).toEqual([0, 0])
})
