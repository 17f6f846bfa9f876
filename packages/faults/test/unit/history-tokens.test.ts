import { describe, expect, test } from '@jest/globals'
import { checkHistory, type HistoryEvent, HistoryError, type Token } from '@holdfast/faults/harness'
import {
  acquire,
  check,
  fault,
  isClean,
  lock,
  lost,
  noise,
  of,
  release,
  trusted,
  write,
} from './history-events.js'

describe('the guarded register', () => {
  test('tokens that stay or grow pass, and refused writes do not count', () => {
    const report = check(
      write('a', 10, '9'), write('a', 11, '9'), write('b', 12, 10), write('a', 13, '9', false), write('b', 14, '10'),
    ) // prettier-ignore
    expect(report).toMatchObject(isClean)
  })

  test('an accepted token below an accepted one is a violation that no fault excuses', () => {
    const [high, low] = [write('b', 20, '9007199254740993'), write('a', 40, '9007199254740992')]
    const report = check(write('a', 10, '1'), high, noise(25), fault(30), low)
    expect(report).toMatchObject({ violations: [{ check: 'register', invariant: 'I1' }], excused: [] })
    expect(report.violations[0]?.events).toEqual([high, low])
  })

  test('where the register counts its decisions, their order is that, whenever the answers came', () => {
    const counted = (event: HistoryEvent, order: number) => ({ ...event, order }) as HistoryEvent
    const [a, b] = [write('a', 20, '1'), write('b', 15, '2')]
    expect(check(counted(a, 1), counted(b, 2))).toMatchObject(isClean)
    expect(check(counted(a, 2), counted(b, 1)).violations.map(({ events }) => events)).toEqual([
      [counted(b, 1), counted(a, 2)],
    ])
    expect(() => check(counted(a, 1), b)).toThrow('Other writes of this lock have an order')
  })

  test('a stale write is no violation as long as nobody newer has written', () => {
    const turns = [
      acquire('a', 10, 20, '1'),
      acquire('b', 30, 50, '2'),
      write('a', 35, '1'),
      write('b', 40, '2'),
    ]
    expect(check(...turns, write('a', 45, '1', false))).toMatchObject(isClean)
    expect(check(...turns, write('a', 45, '1')).violations).toMatchObject([{ check: 'register' }])
  })

  test("without tokens, a write is within its owner's belief, ends included", () => {
    const report = check(acquire('a', 10, 100), write('a', 10), write('a', 20), release('a', 20))
    expect(report).toMatchObject(isClean)
    expect(check(acquire('a', 10, 20), write('a', 20), write('a', 21, undefined, false))).toMatchObject(
      isClean,
    )
  })

  test.each([
    ['release', release('a', 20)],
    ['loss', lost('a', 20)],
    ['end of trust', trusted('a', 15, 20)],
  ])('a write after the %s proves itself with that event', (_, end) => {
    const late = write('a', 20.5)
    expect(check(acquire('a', 10, 100), end, noise(20), late).violations).toMatchObject([
      { check: 'register', invariant: 'I1', events: [end, late] },
    ])
  })

  test('a write of an owner that has not acquired stands alone', () => {
    const early = write('a', 5)
    expect(check(early, acquire('a', 10, 100)).violations.map(({ events }) => events)).toEqual([[early]])
  })

  test('an owner that comes back has a belief each time', () => {
    const back = [acquire('a', 10, 100), release('a', 20), acquire('a', 30, 100), release('a', 40)].flat()
    expect(check(back, write('a', 15), write('a', 35))).toMatchObject(isClean)
    expect(check(back, write('a', 25)).violations[0]?.events).toEqual([back[2], write('a', 25)])
  })
})

describe('the order of tokens', () => {
  const turn = (owner: string, atMs: number, token: Token) => [
    ...acquire(owner, atMs, atMs + 5, token),
    release(owner, atMs + 1),
  ]

  test('growing tokens pass, compared as integers', () => {
    expect(check(turn('a', 10, '9'), turn('b', 20, '10'), turn('c', 30, 11))).toMatchObject(isClean)
  })

  test.each(['8', '9'])('a later grant with token %s after 9 is a violation', (token) => {
    const [a, b] = [turn('a', 10, '9'), turn('c', 30, token)]
    expect(check(turn('z', 5, '1'), a, noise(15), b).violations).toMatchObject([
      { check: 'token-order', invariant: 'I9', lock, events: [a[1], b[0], b[1]] },
    ])
  })

  test('grants that were asked for before the other was complete have no order', () => {
    const [a, b] = [turn('a', 10, '2'), turn('b', 20, '1')]
    const asked = { ...b[0]!, atMs: 10 }
    expect(check(a, asked, b.slice(1))).toMatchObject(isClean)
  })

  test('a re-entry with the same token is no grant', () => {
    expect(check(acquire('a', 10, 50, '7'), acquire('a', 20, 50, '7'))).toMatchObject(isClean)
  })

  test('a loss of data between the grants excuses, and what came after it counts again', () => {
    const [a, b, c] = [turn('a', 10, '9'), turn('b', 30, '2'), turn('c', 40, '2')]
    const report = check(a, fault(20), b, c)
    expect(report.excused).toMatchObject([{ check: 'token-order', events: [a[1], fault(20), b[0], b[1]] }])
    expect(report.violations.map(({ events }) => events)).toEqual([[b[1], c[0], c[1]]])
  })

  test('no loss excuses tokens that are to outlast it', () => {
    const events = [turn('a', 10, '9'), fault(20), turn('b', 30, '2')].flat()
    const lasting = (name: string) => name === lock
    expect(checkHistory(events, { lastingTokens: lasting })).toMatchObject({ violations: [{}], excused: [] })
    const other = (name: string) => name !== lock
    expect(checkHistory(events, { lastingTokens: other })).toMatchObject({ violations: [], excused: [{}] })
  })

  test('no loss excuses that who follows an election is told of such tokens out of order', () => {
    const followed = (atMs: number, token: Token): HistoryEvent => ({
      kind: 'followed',
      atMs,
      ...of('a'),
      token,
    })
    const events = [followed(10, '9'), fault(20), followed(30, '2')]
    const unordered = [{ check: 'followed', invariant: 'I9' }]
    expect(checkHistory(events, { lastingTokens: () => true })).toMatchObject({ violations: unordered })
    expect(checkHistory(events)).toMatchObject({ violations: [], excused: [{}] })
  })

  test('a forced release excuses no token: nothing is lost but the lock', () => {
    const events = [turn('a', 10, '9'), fault(20, lock, 'lock-loss'), turn('b', 30, '2')]
    expect(check(...events)).toMatchObject({ violations: [{ check: 'token-order' }], excused: [] })
  })

  test('a token that is no integer is a mistake of the recorder', () => {
    expect(() => check(turn('a', 10, 'nine'))).toThrow(HistoryError)
    expect(() => check(write('a', 10, 1.5))).toThrow('The token is not an integer')
  })
})
