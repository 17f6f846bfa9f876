import { describe, expect, test } from '@jest/globals'
import { checkHistory, type HistoryEvent } from '@holdfast/faults/harness'
import {
  acquire,
  check,
  fault,
  isClean,
  lock,
  lost,
  of,
  release,
  trusted,
  violation,
} from './history-events.js'

describe('losses', () => {
  test.each(['gone', 'forced'])(
    'one that Redis is blamed for (%s) while trust lasts is a violation',
    (reason) => {
      const [a, event] = [acquire('a', 10, 100), lost('a', 30, reason)]
      expect(check(a, trusted('a', 20, 90), event, lost('a', 40, reason)).violations).toEqual([
        violation('loss', 'I1', 'a lost it while it was trusted', a[1]!, event),
      ])
    },
  )

  test('the proof has the renewal that made the trust last', () => {
    const [a, renewal, event] = [acquire('a', 10, 20), trusted('a', 15, 40), lost('a', 30, 'gone')]
    expect(check(a, renewal, event).violations.map(({ events }) => events)).toEqual([[a[1], renewal, event]])
    expect(check(acquire('a', 10, 50), acquire('a', 15, 20), event).violations).toHaveLength(1)
  })

  test.each(['gone', 'forced', 'expired'])('one (%s) of what was released is a violation', (reason) => {
    const [a, event] = [acquire('a', 10, 30), lost('a', 20, reason)]
    const given = { kind: 'released', atMs: 15, ...of('a'), outcome: 'released' } as const
    expect(check(a, release('a', 14), given, event).violations).toEqual([
      violation('loss', 'I1', 'a was told of the loss of what it had released', a[1]!, event),
    ])
  })

  test('no violation: the end of trust, a loss after it, a loss without a hold', () => {
    const a = acquire('a', 10, 30)
    expect(check(a, lost('a', 20, 'expired'))).toMatchObject(isClean)
    expect(check(a, lost('a', 30, 'gone'))).toMatchObject(isClean)
    expect(check(a, lost('b', 20, 'gone'))).toMatchObject(isClean)
  })

  test('a loss during the release is one: until the answer, only the owner can have taken it away', () => {
    expect(check(acquire('a', 10, 30), release('a', 14), lost('a', 15, 'gone')).violations).toHaveLength(1)
  })

  test.each<[string, HistoryEvent, number]>([
    ['since the acquisition explains it', fault(20), 1],
    ['that took the lock alone explains it', fault(20, lock, 'lock-loss'), 1],
    ['as early as the answer may have been late explains it', fault(8), 1],
    ['before that explains nothing', fault(7.5), 0],
    ['after it explains nothing', fault(30.5), 0],
    ['on another lock explains nothing', fault(20, 'other'), 0],
    ['that loses no data explains nothing', fault(20, undefined, 'disturbance'), 0],
  ])('a fault %s', (_, event, explained) => {
    const events = [...acquire('a', 10, 100), event, lost('a', 30, 'gone')]
    const report = checkHistory(events, { grantLagMs: 2 })
    expect(report.excused).toHaveLength(explained)
    expect(report.violations).toHaveLength(1 - explained)
  })
})
