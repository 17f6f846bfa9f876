import { describe, expect, test } from '@jest/globals'
import { checkHistory, formatViolation, HistoryError, type HistoryEvent } from '@holdfast/faults/harness'
import { isClean, lock, violation } from './history-events.js'

const a = { process: 'p1', lock, owner: 'a' }
const begin: HistoryEvent = { kind: 'acquire-begin', atMs: 1_009, process: 'p1', lock, attempt: 1 }
const acquired: HistoryEvent = { kind: 'acquired', atMs: 1_010, ...a, attempt: 1, trustedUntilMs: 1_100 }
const release: HistoryEvent = { kind: 'release-begin', atMs: 1_050, ...a }
const lost: HistoryEvent = { kind: 'lost', atMs: 1_040, ...a, reason: 'renewal says gone' }
type Outcome = 'released' | 'still-held' | 'lost' | 'already-released' | 'error'
const released = (outcome: Outcome, code?: string): HistoryEvent => {
  return { kind: 'released', atMs: 1_051, ...a, outcome, code }
}
const loss = (atMs: number): HistoryEvent => {
  return { kind: 'fault', atMs, process: 'test', name: 'flush', class: 'data-loss' }
}

describe('the end state', () => {
  const end = { kind: 'end', atMs: 5, process: 'p1', keys: [], channels: [], timers: 0 } as const

  test('passes when nothing is left, and is not asked for', () => {
    expect(checkHistory([end, { ...end, process: 'p2' }])).toMatchObject(isClean)
    expect(checkHistory([])).toMatchObject(isClean)
  })

  test.each([
    [{ keys: ['order:42'] }, 'key "order:42"'],
    [{ channels: ['c'] }, 'channel "c"'],
    [{ timers: 1 }, '1 timer'],
    [{ keys: ['x'], channels: ['c', 'd'], timers: 2 }, 'key "x", channel "c", channel "d", 2 timers'],
  ])('names what is left: %j', (left, text) => {
    const event = { ...end, ...left }
    expect(checkHistory([begin, acquired, release, end, event]).violations).toEqual([
      { check: 'end-state', invariant: 'I5', message: `p1 left ${text}`, events: [event] },
    ])
  })
})

describe('a false "not the owner"', () => {
  const told = released('lost')
  const check = (...events: HistoryEvent[]) => checkHistory(events)

  test.each([
    ['lost', undefined],
    ['error', 'NOT_LOCK_OWNER'],
  ] as const)('is a release that ends in %s (%s) during trust', (outcome, code) => {
    const event = released(outcome, code)
    expect(check(begin, acquired, release, event).violations).toEqual([
      violation(
        'false-not-owner',
        'I2',
        'a was told that it is not the owner, and no loss came before',
        acquired,
        event,
      ),
    ])
  })

  test('is not one after a loss, after the release, after the end of trust or without a hold', () => {
    expect(check(begin, acquired, lost, release, told)).toMatchObject(isClean)
    expect(check(begin, acquired, release, { ...lost, atMs: 1_050.5 }, told)).toMatchObject(isClean)
    expect(check(begin, acquired, release, { ...released('released'), atMs: 1_050.5 }, told)).toMatchObject(
      isClean,
    )
    expect(check(begin, { ...acquired, trustedUntilMs: 1_051 }, release, told)).toMatchObject(isClean)
    expect(check(release, told)).toMatchObject(isClean)
  })

  test('is one when the loss comes after it, or was of somebody else', () => {
    expect(check(begin, acquired, release, told, { ...lost, atMs: 1_060 }).violations).toHaveLength(1)
    expect(check(begin, acquired, { ...lost, owner: 'b' }, release, told).violations).toHaveLength(1)
    expect(check(begin, acquired, { ...lost, lock: 'other' }, release, told).violations).toHaveLength(1)
  })

  test('other outcomes and errors are no concern of it', () => {
    for (const outcome of ['released', 'still-held', 'already-released'] as const) {
      expect(check(begin, acquired, release, released(outcome))).toMatchObject(isClean)
    }
    expect(check(begin, acquired, release, released('error', 'REDIS_UNAVAILABLE'))).toMatchObject(isClean)
  })

  test('is excused by a loss of data since the acquisition only', () => {
    const report = check(begin, acquired, loss(1_020), release, told)
    expect(report).toMatchObject({ violations: [], excused: [{ events: [acquired, loss(1_020), told] }] })
    expect(check(loss(1_000), begin, acquired, release, told).violations).toHaveLength(1)
    const forced = { ...loss(1_020), class: 'lock-loss' } as HistoryEvent
    expect(check(begin, acquired, forced, release, told)).toMatchObject({ violations: [], excused: [{}] })
  })

  test('is a call that fails with it, where the process was told of no loss', () => {
    const call = { process: 'p1', lock, attempt: 2 }
    const again: HistoryEvent = { kind: 'acquire-begin', atMs: 1_060, ...call }
    const failed: HistoryEvent = { kind: 'failed', atMs: 1_061, ...call, code: 'NOT_LOCK_OWNER' }
    expect(check(begin, acquired, again, failed).violations).toMatchObject([
      { check: 'false-not-owner', events: [again, failed] },
    ])
    expect(check(begin, acquired, lost, again, failed)).toMatchObject(isClean)
    expect(check(begin, acquired, again, { ...failed, code: 'REDIS_UNAVAILABLE' })).toMatchObject(isClean)
    expect(check(again, failed, loss(10))).toMatchObject({ violations: [], excused: [{}] })
    expect(check(begin, acquired, again, { ...failed, owner: 'a' }).violations).toMatchObject([
      { events: [acquired, { ...failed, owner: 'a' }] },
    ])
  })
})

describe('the report', () => {
  test('has the figures of the run, whatever order the events come in', () => {
    const events: HistoryEvent[] = [
      begin, acquired, lost,
      { kind: 'acquire-begin', atMs: 1_020, process: 'p2', lock, attempt: 1 },
      { kind: 'fault', atMs: 1_030, process: 'test', name: 'cut', class: 'disturbance' },
      { kind: 'healed', atMs: 1_060, process: 'test', name: 'cut' },
      { kind: 'acquired', atMs: 1_075, process: 'p2', lock, attempt: 1, owner: 'b', trustedUntilMs: 1_200 },
    ] // prettier-ignore
    const figures = {
      acquisitions: 2,
      losses: 1,
      faults: 1,
      longestWaitMs: 55,
      longestWaitAfterHealMs: 15,
    }
    expect(checkHistory(events).figures).toEqual(figures)
    const reversed = [...events].reverse()
    expect(checkHistory(reversed)).toEqual(checkHistory(events))
    expect(reversed).toEqual([...events].reverse())
  })

  test.each<[string, HistoryEvent[]]>([
    ['This attempt has begun and not ended', [begin, begin]],
    ['No attempt of that name is under way', [acquired]],
    ['No attempt of that name is under way', [begin, acquired, { ...acquired, atMs: 1_020 }]],
    ['The attempt is for another lock', [begin, { ...acquired, lock: 'other' }]],
    ['Nothing to heal', [{ kind: 'healed', atMs: 1, process: 'test', name: 'cut' }]],
    ['atMs is not a finite number', [{ ...begin, atMs: Number.NaN }]],
    ['A time is not a number', [begin, { ...acquired, trustedUntilMs: Number.NaN }]],
  ])('refuses a history that contradicts itself: %s', (message, events) => {
    expect(() => checkHistory(events)).toThrow(HistoryError)
    expect(() => checkHistory(events)).toThrow(message)
  })

  test('refuses options that would switch a check off unseen', () => {
    const liveness = { deadlineMs: Number.NaN, graceMs: 0 }
    expect(() => checkHistory([], { liveness })).toThrow(
      new RangeError('deadlineMs must be a number from 0 on'),
    )
    expect(() => checkHistory([], { fifo: { maxOvertakes: 0, slackMs: -1 } })).toThrow('slackMs')
    expect(() => checkHistory([], { grantLagMs: -1 })).toThrow('grantLagMs')
  })

  test('prints a violation with its events one per line and relative times', () => {
    const b: HistoryEvent[] = [
      { kind: 'acquire-begin', atMs: 1_010, process: 'process-2', lock, attempt: 'x y' },
      { kind: 'acquired', atMs: 1_022.5, process: 'process-2', lock, attempt: 'x y', owner: 'b', trustedUntilMs: 1_000 },
      { kind: 'trusted', atMs: 1_022.5, process: 'process-2', lock, owner: 'b', untilMs: 1_200 },
    ] // prettier-ignore
    const [violation] = checkHistory([begin, acquired, ...b]).violations
    expect(formatViolation(violation!)).toBe(
      [
        'I1 overlap on "order:42": b acquired it while a believed to hold it',
        '   +0.000 ms  p1         acquired  owner=a attempt=1 trustedUntilMs=+90.000 ms',
        '  +12.500 ms  process-2  acquired  attempt="x y" owner=b trustedUntilMs=-10.000 ms',
      ].join('\n'),
    )
  })

  test('prints a violation that concerns no single lock', () => {
    const event = { kind: 'end', atMs: 7, process: 'p1', keys: ['a b'], channels: [], timers: 0 } as const
    const [violation] = checkHistory([event]).violations
    expect(formatViolation(violation!)).toBe(
      'I5 end-state: p1 left key "a b"\n  +0.000 ms  p1  end  keys=["a b"] channels=[] timers=0',
    )
  })
})
