import { describe, expect, test } from '@jest/globals'
import type { HistoryEvent } from '../../src/harness/index.js'
import { checkAtRest } from '../../src/simulator/checks/at-rest.js'
import { askedBehind } from '../../src/simulator/checks/dead-waiters.js'
import { checkFreeLocks } from '../../src/simulator/checks/free-locks.js'
import { checkDuties } from '../../src/simulator/checks/duties.js'
import { checkTurns } from '../../src/simulator/checks/turns.js'
import { planOf } from '../../src/simulator/index.js'

const LOCK = 'plain:0'
const OWNER = 'p0~x:1'
const settings = { ...planOf(1).settings, leaseMs: 3_000, resyncMs: 1_000, slowestMs: 1 }

const at = (atMs: number, kind: string, more: object = {}): HistoryEvent =>
  ({ atMs, process: 'p0', kind, lock: LOCK, ...more }) as HistoryEvent

const acquired = (leaseMs?: number): HistoryEvent[] => [
  at(0, 'acquire-begin', { attempt: 'a', leaseMs }),
  at(10, 'acquired', { attempt: 'a', owner: OWNER, trustedUntilMs: 2_900 }),
]

const fault = (name: string, fromMs: number, toMs: number, more: object = {}): HistoryEvent[] => [
  at(fromMs, 'fault', { process: 'world', name: `${name} f0`, class: 'lock-loss', ...more }),
  at(toMs, 'healed', { process: 'world', name: `${name} f0`, ...more }),
]

const rulesOf = (events: readonly HistoryEvent[]): string[] =>
  checkDuties(
    [...events].sort((a, b) => a.atMs - b.atMs),
    settings,
  ).map(({ rule }) => rule)

describe('a call', () => {
  const ended = (atMs: number): HistoryEvent[] => [
    at(0, 'acquire-begin', { attempt: 'a', deadlineMs: 500 }),
    at(atMs, 'refused', { attempt: 'a' }),
  ]

  test('ends when its time is over, though Redis does not answer', () => {
    expect(rulesOf([...ended(600), ...fault('black-hole', 10, 8_000)])).toEqual([])
    expect(rulesOf([...ended(5_000), ...fault('black-hole', 10, 8_000)])).toEqual(['I8 deadline'])
  })

  test('ends later where its process stood still', () => {
    expect(rulesOf([...ended(5_000), ...fault('process-stands-still', 10, 4_900)])).toEqual([])
  })
})

describe('a lease that is renewed', () => {
  const lost = at(2_900, 'lost', { owner: OWNER, reason: 'expired' })

  test('does not end while Redis answers', () => {
    expect(rulesOf([...acquired(), lost])).toEqual(['I3 renewal'])
  })

  test('does not end while Redis has no memory left', () => {
    expect(rulesOf([...acquired(), lost, ...fault('out-of-memory', 20, 2_800)])).toEqual(['I3 renewal'])
  })

  test('may end when Redis did not answer', () => {
    expect(rulesOf([...acquired(), lost, ...fault('black-hole', 20, 2_800)])).toEqual([])
  })

  test('ends when nobody renews it', () => {
    expect(rulesOf([...acquired(2_900), lost])).toEqual([])
  })
})

describe('a release', () => {
  const release = (untilMs: number): HistoryEvent[] => [
    ...acquired(),
    at(100, 'release-begin', { owner: OWNER }),
    at(untilMs, 'released', { owner: OWNER, outcome: 'released' }),
  ]

  test('is answered while Redis answers', () => {
    expect(rulesOf(release(110))).toEqual([])
    expect(rulesOf(release(1_000))).toEqual(['I4 release'])
  })

  test('is answered while Redis has no memory left', () => {
    expect(rulesOf([...release(1_000), ...fault('out-of-memory', 50, 950)])).toEqual(['I4 release'])
  })

  test('may take longer when Redis stood still', () => {
    expect(rulesOf([...release(1_000), ...fault('server-stands-still', 50, 950)])).toEqual([])
  })

  test('has no answer of interest to a caller that was told of the loss', () => {
    expect(rulesOf([...release(1_000), at(50, 'lost', { owner: OWNER, reason: 'gone' })])).toEqual([])
  })
})

describe('the holder of a lock that was taken away', () => {
  const forced = fault('force-unlock', 100, 102, { took: true })
  const vanished = fault('key-vanishes', 100, 100, { part: 'hash' })

  test('is told of a forced release at once', () => {
    const soon = at(110, 'lost', { owner: OWNER, reason: 'forced' })
    const late = at(1_000, 'lost', { owner: OWNER, reason: 'gone' })
    expect(rulesOf([...acquired(), ...forced, soon])).toEqual([])
    expect(rulesOf([...acquired(), ...forced, late])).toEqual(['I1 told'])
  })

  test('is told by the next renewal that its key is gone', () => {
    const told = at(1_110, 'lost', { owner: OWNER, reason: 'gone' })
    expect(rulesOf([...acquired(), ...vanished, told])).toEqual([])
    expect(rulesOf([...acquired(), ...vanished])).toEqual(['I1 told'])
  })

  test('is told nothing when nothing was taken, when it had released it, or when nobody renews it', () => {
    const given = [
      at(105, 'release-begin', { owner: OWNER }),
      at(110, 'released', { owner: OWNER, outcome: 'lost' }),
    ]
    expect(rulesOf([...acquired(), ...fault('force-unlock', 100, 102, { took: false })])).toEqual([])
    expect(rulesOf([...acquired(), ...vanished, ...given])).toEqual([])
    expect(rulesOf([...acquired(2_900), ...vanished])).toEqual([])
  })

  test('is told nothing when another had the lock since: it was gone before', () => {
    const next = at(60, 'acquired', { attempt: 'b', owner: 'another' })
    const released = at(110, 'lost', { owner: 'another', reason: 'forced' })
    expect(rulesOf([...acquired(), next, ...forced, released])).toEqual([])
  })

  test('may not have heard of it through a broken connection', () => {
    expect(rulesOf([...acquired(), ...forced, ...fault('cut', 101, 103)])).toEqual([])
  })
})

describe('at rest', () => {
  const orphan = { atMs: 9_000, lock: LOCK, owner: OWNER, what: 'hold' as const }

  test('nobody holds a lock', () => {
    expect(checkAtRest([], [])).toEqual([])
    expect(checkAtRest([], [orphan]).map(({ rule }) => rule)).toEqual(['I2 at rest'])
  })

  test('a lock is held for somebody whose release was lost with the data', () => {
    expect(checkAtRest(fault('fail-over', 1, 2), [orphan])).toEqual([])
  })

  test('a lock is held where a release had no answer for 2 s and the clock was set back', () => {
    const begun = at(100, 'release-begin', { owner: OWNER })
    const endedAt = (ms: number) => at(ms, 'released', { owner: OWNER, outcome: 'lost' })
    const clock = fault('clock-back', 1, 2)
    expect(checkAtRest([begun, endedAt(2_100), ...clock], [orphan])).toEqual([])
    expect(checkAtRest([begun, ...clock], [orphan])).toEqual([])
    expect(checkAtRest([begun, endedAt(2_099), ...clock], [orphan])).toHaveLength(1)
    expect(checkAtRest([begun, endedAt(2_100)], [orphan])).toHaveLength(1)
  })

  test('a reader has no time-out, unless its lock was deleted before it could release it', () => {
    const timeOut = { ...orphan, what: 'time-out' as const }
    const deleted = fault('key-vanishes', 1, 2, { lock: LOCK, part: 'hash' })
    expect(checkAtRest([], [timeOut])).toHaveLength(1)
    expect(checkAtRest(deleted, [timeOut])).toEqual([])
    expect(checkAtRest(deleted, [orphan])).toHaveLength(1)
  })
})

describe('a lock of which Redis has nothing', () => {
  const limits = { limitMs: 300, healsIn: () => 1_000 }
  const waits = (attempt: string, fromMs: number, toMs: number): HistoryEvent[] => [
    at(fromMs, 'acquire-begin', { attempt, deadlineMs: toMs - fromMs }),
    at(toMs, 'refused', { attempt }),
  ]
  const found = (events: readonly HistoryEvent[], free = [{ lock: LOCK, fromMs: 0, toMs: 9_000 }]) =>
    checkFreeLocks(
      [...events].sort((a, b) => a.atMs - b.atMs),
      free,
      limits,
    ).map(({ rule }) => rule)

  test('is not waited for, by one caller or by one after the other', () => {
    expect(found(waits('a', 100, 390))).toEqual([])
    expect(found(waits('a', 100, 500))).toEqual(['I4 free'])
    expect(found([...waits('a', 100, 300), ...waits('b', 250, 450)])).toEqual(['I4 free'])
    expect(found([...waits('a', 100, 300), ...waits('b', 350, 550)])).toEqual([])
  })

  test('was not free where somebody got it in between, or Redis had it for a while', () => {
    const taken = at(350, 'acquired', { attempt: 'b', owner: OWNER })
    expect(found([...waits('a', 100, 600), taken])).toEqual([])
    expect(found(waits('a', 100, 600), [{ lock: LOCK, fromMs: 350, toMs: 9_000 }])).toEqual([])
  })

  test('may be waited for during a fault, and until that has healed', () => {
    expect(found([...waits('a', 100, 1_400), ...fault('cut', 50, 120)])).toEqual([])
    expect(found([...waits('a', 100, 1_500), ...fault('cut', 50, 120)])).toEqual(['I4 free'])
    expect(found([...waits('a', 100, 500), ...fault('cut', 50, 120, { lock: 'another' })])).toEqual([
      'I4 free',
    ])
  })
})

describe('a dead waiter of a fair lock', () => {
  const FAIR = 'fair:0'
  const heartbeatMs = 1_000
  const call = (process: string, fromMs: number, toMs: number): HistoryEvent[] => [
    at(fromMs, 'acquire-begin', { process, lock: FAIR, attempt: 'a' }),
    at(toMs, 'refused', { process, lock: FAIR, attempt: 'a' }),
  ]
  const dead = [
    at(100, 'acquire-begin', { process: 'p1', lock: FAIR, attempt: 'a' }),
    at(200, 'killed', { process: 'p1', lock: undefined }),
  ]
  const asked = (events: readonly HistoryEvent[], process = 'p1', lock = FAIR): number | undefined =>
    askedBehind(
      [...dead, ...events].sort((a, b) => a.atMs - b.atMs),
      heartbeatMs,
    ).killed(process, lock)

  test('delays the next from when that asks, where nobody was heard for more than a heartbeat', () => {
    const released = at(8_000, 'release-begin', { lock: FAIR, owner: OWNER })
    expect(asked(call('p2', 9_000, 9_500))).toBe(9_000)
    expect(asked([...call('p2', 9_000, 9_500), released])).toBe(8_000)
    expect(asked([...call('p2', 300, 500), ...call('p3', 9_000, 9_500)])).toBe(9_000)
  })

  test('delays nobody by more than that where others were heard until it counted as dead', () => {
    const heard = call('p2', 300, 2_300)
    expect(asked(heard)).toBeUndefined()
    expect(asked([...heard, ...call('p3', 9_000, 9_500)])).toBeUndefined()
  })

  test('is one that waited for this lock when it was killed', () => {
    const later = call('p2', 9_000, 9_500)
    expect(asked(later, 'p1', 'fair:1')).toBeUndefined()
    expect(asked(later, 'p2')).toBeUndefined()
    expect(asked([...later, at(150, 'refused', { process: 'p1', lock: FAIR, attempt: 'a' })])).toBeUndefined()
  })

  test('is also one whose caller had left when Redis lost that', () => {
    const behind = (events: readonly HistoryEvent[], lossMs = 600) =>
      askedBehind(events, heartbeatMs).restored(lossMs, FAIR)
    const left = call('p1', 100, 500)
    expect(behind([...left, ...call('p2', 9_000, 9_500)])).toBe(9_000)
    expect(behind([...left, ...call('p2', 700, 2_700), ...call('p3', 9_000, 9_500)])).toBeUndefined()
    expect(behind(call('p2', 9_000, 9_500))).toBeUndefined()
  })
})

describe('a process that waits for a plain lock (I15)', () => {
  const turn = (process: string, i: number, attempt = `${process} ${i}`): HistoryEvent[] => [
    at(i * 500 + 100, 'acquire-begin', { process, attempt, deadlineMs: 9_000 }),
    at(i * 500 + 200, 'acquired', { process, attempt, owner: attempt }),
    at(i * 500 + 450, 'released', { process, owner: attempt }),
  ]
  const waiting = at(0, 'acquire-begin', { process: 'p1', attempt: 'w', deadlineMs: 9_000 })
  const turnsOf = (processes: readonly string[]): HistoryEvent[] =>
    processes.flatMap((each, i) => turn(each, i))
  const starved = (events: readonly HistoryEvent[], pushedGrants = true): string[] =>
    checkTurns(
      [...events].sort((a, b) => a.atMs - b.atMs),
      { ...settings, pushedGrants },
      500,
    ).map(({ rule }) => rule)

  test('starves when another has it a fifth time, where grants are made', () => {
    const five = [waiting, ...turnsOf(['p0', 'p2', 'p0', 'p2', 'p0', 'p0', 'p0'])]
    expect(starved(five.slice(0, -3))).toEqual([])
    expect(starved(five)).toEqual(['I15 turns'])
    expect(starved(five, false)).toEqual([])
  })

  test('does not starve when it gave up its place, had a turn, or a fault was under way', () => {
    const five = [waiting, ...turnsOf(['p0', 'p0', 'p0', 'p0', 'p0'])]
    const gaveUp = at(1_000, 'refused', { process: 'p1', attempt: 'w' })
    const hadIt = [1_000, 1_040].map((atMs, i) =>
      at(atMs, i ? 'released' : 'acquired', { process: 'p1', attempt: 'w', owner: 'w' }),
    )
    expect(starved([...five, gaveUp])).toEqual([])
    expect(starved([...five, ...hadIt])).toEqual([])
    expect(starved([...five, ...fault('cut', 900, 950)])).toEqual([])
  })
})
