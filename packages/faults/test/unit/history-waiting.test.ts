import { describe, expect, test } from '@jest/globals'
import { checkHistory, type HistoryEvent, type HistoryOptions } from '@holdfast/faults/harness'
import { begin, call, ended, isClean, lock, violation } from './history-events.js'

const acquired = (name: string, atMs: number): HistoryEvent => {
  return { kind: 'acquired', atMs, ...call(name), owner: name, trustedUntilMs: atMs + 1 }
}
const fault = (
  atMs: number,
  more: { lock?: string; target?: string; class?: 'data-loss' | 'lock-loss' | 'standstill' } = {},
): HistoryEvent => {
  return { kind: 'fault', atMs, process: 'test', name: 'cut', class: 'disturbance', ...more }
}
const healed = (atMs: number, only?: string): HistoryEvent => {
  return { kind: 'healed', atMs, process: 'test', name: 'cut', lock: only }
}

const check = (options: HistoryOptions, ...events: HistoryEvent[]) => checkHistory(events, options)

describe('overtaking', () => {
  const fifo = { maxOvertakes: 1, slackMs: 5 }
  const w = [begin('w', 10), acquired('w', 100)] as const
  const first = [begin('a', 20), acquired('a', 50)] as const
  const second = [begin('b', 30), acquired('b', 60)] as const
  const third = [begin('c', 40), acquired('c', 70)] as const

  test('is not looked at unless asked for, or for locks that are not fair', () => {
    const events = [...w, ...first, ...second, ...third]
    expect(check({}, ...events)).toMatchObject(isClean)
    expect(check({ fifo: { ...fifo, locks: (name) => name !== lock } }, ...events)).toMatchObject(isClean)
  })

  test('as often as allowed is fine, once more is a violation with just as many overtakers', () => {
    expect(check({ fifo }, ...w, ...first)).toMatchObject(isClean)
    const overtakers = [first[0], second[0], first[1], second[1]]
    expect(check({ fifo }, ...w, ...first, ...second, ...third).violations).toEqual([
      violation('overtaking', 'I10', 'attempt w of process-w was overtaken 2 times', w[0], ...overtakers),
    ])
  })

  test('arrivals within the slack have no order', () => {
    const close = (atMs: number) =>
      check({ fifo: { maxOvertakes: 0, slackMs: 5 } }, ...w, begin('a', atMs), first[1])
    expect(close(15)).toMatchObject(isClean)
    expect(close(15.5).violations).toHaveLength(1)
  })

  test('a caller that is served at the same instant or later overtakes nobody', () => {
    const never = { fifo: { maxOvertakes: 0, slackMs: 5 } }
    const same = check(
      never,
      begin('w', 10),
      { ...acquired('w', 50), trustedUntilMs: 50 } as HistoryEvent,
      ...first,
    )
    expect(same).toMatchObject(isClean)
    expect(check(never, begin('w', 10), acquired('w', 40), ...first, ...second)).toMatchObject(isClean)
  })

  test('one that gave up stood in the queue until the slack before the end of its call', () => {
    const given = (atMs: number) =>
      check({ fifo: { maxOvertakes: 0, slackMs: 5 } }, w[0], ...first, ended('refused', 'w', atMs))
    expect(given(55)).toMatchObject(isClean)
    expect(given(55.5).violations).toHaveLength(1)
  })

  test('re-entries overtake nobody', () => {
    const inner = [begin('a2', 30), { ...acquired('a2', 50.5), owner: 'a' }] as HistoryEvent[]
    expect(check({ fifo }, ...w, ...first, ...inner)).toMatchObject(isClean)
  })

  test('a lost queue excuses, and so does a fault on the waiter itself', () => {
    const events = [...w, ...first, ...second]
    const loss = fault(15, { class: 'data-loss' })
    expect(check({ fifo }, ...events, loss)).toMatchObject({ violations: [], excused: [{ fault: loss }] })
    const forced = fault(15, { class: 'lock-loss' })
    expect(check({ fifo }, ...events, forced).violations).toHaveLength(1)
    const pause = fault(5, { target: 'process-w' })
    expect(check({ fifo }, ...events, pause, healed(10))).toMatchObject({ excused: [{ fault: pause }] })
    expect(check({ fifo }, ...events, pause, healed(9)).violations).toHaveLength(1)
    expect(check({ fifo }, ...events, fault(15, { target: 'process-a' })).violations).toHaveLength(1)
    expect(check({ fifo }, ...events, fault(15)).violations).toHaveLength(1)
  })

  test('a waiter that stood still by itself may lose its place; nothing else is excused by that', () => {
    const events = [...w, ...first, ...second]
    const still = fault(5, { target: 'process-w', class: 'standstill' })
    expect(check({ fifo }, ...events, still, healed(10))).toMatchObject({ excused: [{ fault: still }] })
    const other = fault(5, { target: 'process-a', class: 'standstill' })
    const anyFault = { fifo: { ...fifo, excuses: () => true } }
    expect(check(anyFault, ...events, other, healed(10)).violations).toHaveLength(1)
  })

  test('further faults excuse where they are said to, on their lock, and for the calm after them', () => {
    const excuses = ({ target }: { target?: string | undefined }) => target === undefined
    const broad = { fifo: { ...fifo, excuses, calmMs: 3 } }
    const events = [...w, ...first, ...second]
    const halt = fault(5)
    expect(check({ fifo }, ...events, halt, healed(20)).violations).toHaveLength(1)
    expect(check(broad, ...events, halt, healed(20))).toMatchObject({ excused: [{ fault: halt }] })
    expect(check(broad, ...events, halt, healed(7))).toMatchObject({ excused: [{ fault: halt }] })
    expect(check(broad, ...events, halt, healed(6)).violations).toHaveLength(1)
    expect(check(broad, ...events, fault(60.5)).violations).toHaveLength(1)
    expect(check(broad, ...events, fault(50, { lock: 'other' })).violations).toHaveLength(1)
    expect(check(broad, ...events, fault(50, { target: 'process-a' })).violations).toHaveLength(1)
  })
})

describe('liveness', () => {
  const liveness = { deadlineMs: 100, graceMs: 10 }

  test('every kind of end within deadline and grace passes, on the last instant too', () => {
    const report = check(
      { liveness },
      begin('a', 0), acquired('a', 110), begin('b', 0), ended('refused', 'b', 110), begin('c', 0),
      ended('aborted', 'c', 50), begin('d', 0), { kind: 'killed', atMs: 60, process: 'process-d' },
    ) // prettier-ignore
    expect(report).toMatchObject(isClean)
  })

  test('a late success breaks I4, a late end without one I8', () => {
    const [a, b] = [acquired('a', 111), ended('refused', 'b', 110.5)]
    const report = check({ liveness }, begin('a', 0), a, begin('b', 0), b, begin('c', 1), acquired('c', 2))
    const message = (name: string, late: string) => `attempt ${name} of process-${name} ended ${late} ms late`
    expect(report.violations).toEqual([
      violation('liveness', 'I4', message('a', '1.000'), begin('a', 0), a),
      violation('liveness', 'I8', message('b', '0.500'), begin('b', 0), b),
    ])
    expect(check({}, begin('a', 0), a)).toMatchObject(isClean)
  })

  test('a call may bring its own deadline', () => {
    expect(check({ liveness }, begin('a', 0, 500), acquired('a', 510))).toMatchObject(isClean)
    expect(check({ liveness }, begin('a', 0, 0), acquired('a', 10.5)).violations).toHaveLength(1)
  })

  test('the time counts from the healing of a fault that the call met', () => {
    const end = acquired('a', 310)
    expect(check({ liveness }, begin('a', 0), fault(110), healed(200), end)).toMatchObject(isClean)
    expect(check({ liveness }, fault(-5), begin('a', 0), healed(200), end)).toMatchObject(isClean)
    const late = acquired('a', 310.5)
    const report = check({ liveness }, begin('a', 0), fault(50), healed(200), late)
    expect(report.violations.map(({ events }) => events)).toEqual([[begin('a', 0), healed(200), late]])
  })

  test('a fault that strikes before the moved limit moves it again', () => {
    const events = [begin('a', 0), fault(50), healed(200), fault(300), healed(400), acquired('a', 510)]
    expect(check({ liveness }, ...events)).toMatchObject(isClean)
  })

  test.each([
    ['struck after the limit', fault(110.5), healed(200)],
    ['was healed before the call', fault(-10), healed(-1)],
    ['was on another lock', fault(50, { lock: 'other' }), healed(200, 'other')],
  ])('a fault that %s gives no time', (_, from, to) => {
    const report = check({ liveness }, begin('a', 0), from, to, acquired('a', 250))
    expect(report.violations.map(({ events }) => events)).toEqual([[begin('a', 0), acquired('a', 250)]])
  })

  test('a call without an end is a violation with and without a limit', () => {
    const stuck = violation('liveness', 'I4', 'attempt a of process-a never ended', begin('a', 0))
    expect(check({}, begin('a', 0), begin('b', 1), acquired('b', 2)).violations).toEqual([stuck])
    expect(check({ liveness }, begin('a', 0)).violations).toEqual([stuck])
    const report = check({ liveness }, begin('a', 0), fault(50), healed(60))
    expect(report.violations).toEqual([{ ...stuck, events: [begin('a', 0), healed(60)] }])
  })

  test('the death of a process ends its calls only', () => {
    const death: HistoryEvent = { kind: 'killed', atMs: 5, process: 'process-a' }
    const report = check({ liveness }, begin('a', 0), begin('b', 0), death)
    expect(report.violations.map(({ events }) => events)).toEqual([[begin('b', 0)]])
  })
})
