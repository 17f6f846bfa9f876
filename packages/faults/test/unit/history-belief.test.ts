import { describe, expect, test } from '@jest/globals'
import { checkHistory, type HistoryEvent } from '@holdfast/faults/harness'
import {
  acquire,
  check,
  fault,
  healed,
  isClean,
  lock,
  lost,
  noise,
  release,
  trusted,
  violation,
} from './history-events.js'

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
      violation('overlap', 'I1', 'b acquired it while a believed to hold it', a[1]!, b[1]!),
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

  test('a forced release excuses, and what came after it excludes others', () => {
    const [a, b, c] = [acquire('a', 10, 100), acquire('b', 30, 100), acquire('c', 40, 100)]
    const report = check(a, fault(20, lock, 'lock-loss'), b, c)
    expect(report.excused.map(({ message }) => message[0])).toEqual(['b'])
    expect(report.violations.map(({ message }) => message[0])).toEqual(['c'])
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

  test('a caller that acquired after the loss excludes others, though a belief from before it goes on', () => {
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
