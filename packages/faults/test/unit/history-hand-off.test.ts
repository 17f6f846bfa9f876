import { describe, expect, test } from '@jest/globals'
import { checkHistory, type HistoryEvent } from '@holdfast/faults/harness'
import { begin, call, ended, isClean, lock, of, violation } from './history-events.js'

const handOff = { limitMs: 100, calmMs: 20 }

const acquired = (name: string, atMs: number, trustedUntilMs = atMs + 1_000): HistoryEvent => {
  return { kind: 'acquired', atMs, ...call(name), owner: name, trustedUntilMs }
}
const release = (owner: string, atMs: number): HistoryEvent[] => [
  { kind: 'release-begin', atMs: atMs - 1, ...of(owner) },
  { kind: 'released', atMs, ...of(owner), outcome: 'released' },
]
const fault = (atMs: number, only?: string): HistoryEvent => {
  return { kind: 'fault', atMs, process: 'test', name: 'cut', class: 'disturbance', lock: only }
}
const healed = (atMs: number): HistoryEvent => ({ kind: 'healed', atMs, process: 'test', name: 'cut' })

const check = (...events: (HistoryEvent | HistoryEvent[])[]) => checkHistory(events.flat(), { handOff })

/** An owner releases at 50 what `w` has wanted since 20. */
const a = [begin('a', 0), acquired('a', 10), ...release('a', 50)]
const w = begin('w', 20)

describe('hand-off', () => {
  test('is not looked at unless asked for', () => {
    expect(checkHistory([...a, w, acquired('w', 151)])).toMatchObject(isClean)
  })

  test('a lock that is taken within the limit was handed on, by whomever', () => {
    expect(check(a, w, acquired('w', 150))).toMatchObject(isClean)
    expect(check(a, w, begin('b', 60), acquired('b', 70), ended('refused', 'w', 300))).toMatchObject(isClean)
  })

  test('a fault explains a free lock until it has healed, where that is asked for', () => {
    const healsIn = { handOff: { ...handOff, healsIn: () => handOff.calmMs } }
    const cut = [fault(40), healed(200)]
    // 200, the time to find what was lost, and the limit.
    expect(checkHistory([...a, w, ...cut, acquired('w', 320)], healsIn)).toMatchObject(isClean)
    expect(checkHistory([...a, w, ...cut, acquired('w', 321)], healsIn).violations).toHaveLength(1)
    expect(check(a, w, cut, acquired('w', 321)).violations).toEqual([])
  })

  test('a process that stood still by itself explains no slow one', () => {
    const name = 'w stood still'
    const still = { kind: 'fault', atMs: 60, process: 'w', name, class: 'standstill', target: 'w' } as const
    const over = { kind: 'healed', atMs: 140, process: 'w', name } as const
    expect(check(a, w, still, over, acquired('w', 151)).violations).toHaveLength(1)
  })

  test('one that stays free longer while somebody waits is a violation', () => {
    expect(
      check(a, w, begin('other', 30), ended('aborted', 'other', 140), acquired('w', 150.5)).violations,
    ).toEqual([violation('hand-off', 'I4', 'free for 100 ms while attempt w of process-w waited', w, a[3]!)])
  })

  test('also when it is never taken again', () => {
    expect(check(a, w, ended('refused', 'w', 300)).violations).toHaveLength(1)
  })

  test.each<[string, HistoryEvent[]]>([
    ['gave up in time', [w, ended('refused', 'w', 150)]],
    ['was to give up in time', [begin('w', 20, 130), ended('refused', 'w', 200)]],
    ['died', [w, { kind: 'killed', atMs: 100, process: 'process-w' }]],
    ['came after the release', [begin('w', 51), ended('refused', 'w', 300)]],
    ['tried once', [begin('w', 20, 0), ended('refused', 'w', 300)]],
    [
      'waited for another lock',
      [begin('w', 20), ended('refused', 'w', 300)].map(
        (event) => ({ ...event, lock: 'other' }) as HistoryEvent,
      ),
    ],
  ])('nobody waits all that time: one that %s', (_, events) => {
    expect(check(a, events)).toMatchObject(isClean)
  })

  test('the next owner may have its answer before the former one has', () => {
    const [before, after] = [acquired('w', 49.5), ended('refused', 'x', 400)]
    expect(check(a, w, before, begin('x', 30), after, release('w', 390))).toMatchObject(isClean)
    expect(check(a, w, before, begin('x', 30), after, release('w', 290)).violations).toHaveLength(1)
  })

  test('a lock whose next owner died or lost trust is not free until its trust would have ended', () => {
    const next = [w, acquired('w', 49.5, 60), begin('x', 30), ended('refused', 'x', 200)]
    expect(check(a, next)).toMatchObject(isClean)
    const back = [begin('b', 61), acquired('b', 62), ...release('b', 63)]
    expect(check(a, next, back).violations).toMatchObject([{ events: [begin('x', 30), back[3]] }])
  })

  test('a lock that Redis has for a dead owner is not free, for as long as it has it', () => {
    const had = (toMs: number, more: object = {}) => {
      const remains = [{ lock, mode: 'exclusive' as const, fromMs: 0, toMs, ...more }]
      return checkHistory([...a, w, ended('refused', 'w', 300)], { handOff: { ...handOff, remains } })
        .violations
    }
    expect(had(51)).toEqual([])
    expect(had(50)).toHaveLength(1)
    expect(had(500, { fromMs: 151 })).toHaveLength(1)
    expect(had(500, { lock: 'other' })).toHaveLength(1)
    expect(had(500, { mode: 'shared' })).toEqual([])
  })

  test.each(['gone', 'forced'])('a lock that Redis has taken from its owner (%s) is free', (reason) => {
    const events = (why: string) => [
      begin('b', 5), acquired('b', 6), { kind: 'lost', atMs: 40, ...of('b'), reason: why } as const,
      ...a, w, ended('refused', 'w', 200),
    ] // prettier-ignore
    const found = (why: string) => check(events(why)).violations.filter((each) => each.check === 'hand-off')
    expect(found(reason)).toHaveLength(1)
    expect(found('expired')).toHaveLength(0)
  })

  test('a partial release, or one that failed, frees nothing', () => {
    for (const outcome of ['still-held', 'already-released', 'error'] as const) {
      const released = { ...a[3], outcome } as HistoryEvent
      expect(check(a.slice(0, 3), released, w, ended('refused', 'w', 300))).toMatchObject(isClean)
    }
  })

  test.each<[string, HistoryEvent[], boolean]>([
    ['during the time', [fault(100)], true],
    ['on the last instant', [fault(150)], true],
    ['that was over shortly before', [fault(10), healed(30)], true],
    ['that was over long before', [fault(10), healed(29)], false],
    ['that came later', [fault(150.5)], false],
    ['on another lock', [fault(100, 'other')], false],
  ])('a fault %s', (_, faults, excuses) => {
    const report = check(a, w, faults, ended('refused', 'w', 300))
    expect(report.excused).toHaveLength(excuses ? 1 : 0)
    expect(report.violations).toHaveLength(excuses ? 0 : 1)
    if (excuses) expect(report.excused[0]).toMatchObject({ check: 'hand-off', fault: faults[0] })
  })
})
