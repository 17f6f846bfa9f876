import { describe, expect, test } from '@jest/globals'
import { checkHistory, type HistoryEvent, HistoryError, type Token } from '@holdfast/testing'

const lock = 'order:42'
const of = (owner: string) => ({ process: `process-${owner}`, lock, owner })

/** An owner's call and success, one ms apart. */
const acquire = (owner: string, atMs: number, trustedUntilMs: number, token?: Token): HistoryEvent[] => [
  { kind: 'acquire-begin', atMs: atMs - 1, process: `process-${owner}`, lock, attempt: atMs },
  { kind: 'acquired', atMs, ...of(owner), attempt: atMs, trustedUntilMs, token },
]
const trusted = (owner: string, atMs: number, untilMs: number): HistoryEvent => {
  return { kind: 'trusted', atMs, ...of(owner), untilMs }
}
const lost = (owner: string, atMs: number): HistoryEvent => ({
  kind: 'lost',
  atMs,
  ...of(owner),
  reason: 'gone',
})
const release = (owner: string, atMs: number): HistoryEvent => ({ kind: 'release-begin', atMs, ...of(owner) })
const write = (owner: string, atMs: number, token?: Token, accepted = true): HistoryEvent => {
  return { kind: 'write', atMs, ...of(owner), token, accepted }
}
const fault = (
  atMs: number,
  only?: string,
  kind: 'data-loss' | 'disturbance' = 'data-loss',
): HistoryEvent => {
  return { kind: 'fault', atMs, process: 'test', name: 'restart', class: kind, lock: only }
}
const healed = (atMs: number): HistoryEvent => ({ kind: 'healed', atMs, process: 'test', name: 'restart' })
const noise = (atMs: number): HistoryEvent[] => {
  const other = { process: 'q', lock: 'other', owner: `noise-${atMs}` }
  return [
    { kind: 'acquire-begin', atMs, ...other, attempt: `noise-${atMs}` },
    { kind: 'acquired', atMs, ...other, attempt: `noise-${atMs}`, trustedUntilMs: atMs + 0.5 },
    { kind: 'write', atMs, ...other, accepted: true },
  ]
}

const check = (...events: (HistoryEvent | HistoryEvent[])[]) => checkHistory(events.flat())
const isClean = { violations: [], excused: [] }

describe('overlap of beliefs', () => {
  test('beliefs that end by release, loss or trust before the next begins are fine', () => {
    const report = check(
      acquire('a', 10, 100), release('a', 20),
      acquire('b', 30, 100), lost('b', 40),
      acquire('c', 50, 60), trusted('c', 55, 70),
      acquire('d', 80, 90),
    ) // prettier-ignore
    expect(report).toMatchObject(isClean)
  })

  test.each<[string, (ms: number) => HistoryEvent]>([
    ['release', (ms) => release('a', ms)],
    ['loss', (ms) => lost('a', ms)],
    ['end of trust', (ms) => trusted('a', 15, ms)],
    ['death', (ms) => ({ kind: 'killed', atMs: ms, process: 'process-a' })],
  ])('beliefs may touch at the %s', (_, end) => {
    const b = acquire('b', 20, 100)
    expect(check(acquire('a', 10, 100), end(20), b)).toMatchObject(isClean)
    expect(check(acquire('a', 10, 100), end(20.5), b).violations).toMatchObject([{ check: 'overlap' }])
  })

  test('the proof is the two acquisitions and nothing else', () => {
    const [a, b] = [acquire('a', 10, 100), acquire('b', 30, 100)]
    const events = [a, noise(12), trusted('a', 20, 110), b, noise(35), release('a', 40), release('b', 50)]
    expect(check(...events).violations).toEqual([
      {
        check: 'overlap',
        invariant: 'I1',
        lock,
        message: 'b acquired it while a believed to hold it',
        events: [a[1], b[1]],
      },
    ])
  })

  test('the proof has the renewal that made the trust last', () => {
    const [a, b, renewal] = [acquire('a', 10, 20), acquire('b', 30, 100), trusted('a', 19, 40)]
    const report = check(a, trusted('a', 15, 25), renewal, trusted('a', 39, 60), b)
    expect(report.violations.map(({ events }) => events)).toEqual([[a[1], renewal, b[1]]])
  })

  test('a renewal that succeeds after trust had lapsed covers the time between', () => {
    const [a, b, renewal] = [acquire('a', 10, 20), acquire('b', 30, 35), trusted('a', 40, 60)]
    expect(check(a, b, renewal).violations.map(({ events }) => events)).toEqual([[a[1], b[1], renewal]])
  })

  test('a short hold inside a long one is seen, also after another short one', () => {
    const report = check(
      acquire('a', 10, 100), acquire('b', 20, 25), acquire('c', 30, 35), release('a', 90),
      acquire('d', 40, 45), release('d', 40),
    ) // prettier-ignore
    expect(report.violations.map(({ message }) => message[0])).toEqual(['b', 'c', 'd'])
  })

  test('re-entries are one belief, which the last release ends', () => {
    const [outer, inner] = [acquire('a', 10, 50), acquire('a', 20, 30)]
    expect(check(outer, inner, release('a', 25), release('a', 40), acquire('b', 40, 60))).toMatchObject(
      isClean,
    )
    const b = acquire('b', 35, 60)
    const report = check(outer, inner, release('a', 25), release('a', 40), b)
    expect(report.violations.map(({ events }) => events)).toEqual([[outer[1], b[1]]])
  })

  test('an answer that came after its trust had run out was never believed', () => {
    expect(check(acquire('a', 10, 50), acquire('b', 30, 29))).toMatchObject(isClean)
  })

  test('a loss of data between the acquisitions excuses, whatever else runs', () => {
    const [a, b, loss] = [acquire('a', 10, 100), acquire('b', 30, 100), fault(20)]
    const report = check(a, loss, b)
    expect(report.violations).toEqual([])
    expect(report.excused).toMatchObject([{ check: 'overlap', events: [a[1], loss, b[1]], fault: loss }])
  })

  test.each([
    ['came before the first', fault(9)],
    ['came after the second', fault(30.5)],
    ['was on another lock', fault(20, 'other')],
    ['lost no data', fault(20, undefined, 'disturbance')],
  ])('a fault that %s excuses nothing', (_, other) => {
    const report = check(acquire('a', 10, 100), other, acquire('b', 30, 100))
    expect(report).toMatchObject({ violations: [{ check: 'overlap' }], excused: [] })
  })

  test('a fault that lasts excuses from its begin to its healing', () => {
    const overlap = [...acquire('a', 10, 100), ...acquire('b', 30, 100)]
    expect(check(fault(5), overlap, healed(10))).toMatchObject({ violations: [], excused: [{}] })
    expect(check(fault(5), overlap, healed(9))).toMatchObject({ violations: [{}], excused: [] })
    expect(check(fault(30, lock), overlap)).toMatchObject({ violations: [], excused: [{}] })
  })

  test('who acquired after the loss excludes others, though a belief from before it goes on', () => {
    const [b, c] = [acquire('b', 30, 60), acquire('c', 40, 60)]
    const report = check(acquire('a', 10, 100), fault(20), b, c)
    expect(report.excused.map(({ message }) => message[0])).toEqual(['b'])
    expect(report.violations.map(({ events }) => events)).toEqual([[b[1], c[1]]])
  })

  test('grantLagMs excuses a loss that struck while the first answer was under way', () => {
    const events = [...acquire('a', 10, 100), fault(8), ...acquire('b', 30, 100)]
    expect(checkHistory(events, { grantLagMs: 2 }).excused).toHaveLength(1)
    expect(checkHistory(events, { grantLagMs: 1.5 }).violations).toHaveLength(1)
  })
})

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

  test('a token that is no integer is a mistake of the recorder', () => {
    expect(() => check(turn('a', 10, 'nine'))).toThrow(HistoryError)
    expect(() => check(write('a', 10, 1.5))).toThrow('The token is not an integer')
  })
})
