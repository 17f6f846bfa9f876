import { describe, expect, test } from '@jest/globals'
import { checkHistory, type HistoryEvent, type Mode } from '@holdfast/faults/harness'
import { isClean, lock, of } from './history-events.js'

const handOff = { limitMs: 100, calmMs: 20 }

const begin = (name: string, atMs: number, mode: Mode): HistoryEvent => {
  return { kind: 'acquire-begin', atMs, process: `process-${name}`, lock, attempt: `${name}-${mode}`, mode }
}
/** A call and its success, one ms apart. */
const acquire = (name: string, mode: Mode, atMs: number, trustedUntilMs = 1_000): HistoryEvent[] => [
  begin(name, atMs - 1, mode),
  { kind: 'acquired', atMs, ...of(name), attempt: `${name}-${mode}`, trustedUntilMs },
]
const read = (name: string, atMs: number, trustedUntilMs?: number) =>
  acquire(name, 'shared', atMs, trustedUntilMs)
const write = (name: string, atMs: number, trustedUntilMs?: number) =>
  acquire(name, 'exclusive', atMs, trustedUntilMs)
const refused = (name: string, mode: Mode, atMs: number): HistoryEvent => {
  return { kind: 'refused', atMs, process: `process-${name}`, lock, attempt: `${name}-${mode}` }
}
type Outcome = 'released' | 'still-held'
const release = (name: string, atMs: number, mode?: Mode, outcome: Outcome = 'released'): HistoryEvent[] => [
  { kind: 'release-begin', atMs: atMs - 1, ...of(name), mode },
  { kind: 'released', atMs, ...of(name), outcome },
]
const loss: HistoryEvent = { kind: 'fault', atMs: 25, process: 'test', name: 'flush', class: 'data-loss' }

const check = (...events: HistoryEvent[][]) => checkHistory(events.flat(), { handOff })
const messages = (...events: HistoryEvent[][]) => check(...events).violations.map(({ message }) => message)

describe('beliefs of readers and writers', () => {
  test('readers go together, also around one another', () => {
    expect(check(read('a', 10), read('b', 20), read('c', 30), release('b', 40), read('d', 50))).toMatchObject(
      isClean,
    )
  })

  test('a writer excludes readers, and readers exclude a writer', () => {
    expect(messages(write('a', 10), read('b', 20))).toEqual([
      'b acquired it shared while a believed to hold it',
    ])
    expect(messages(read('a', 10), write('b', 20))).toEqual([
      'b acquired it while a believed to hold it shared',
    ])
    expect(messages(write('a', 10), write('b', 20))).toEqual(['b acquired it while a believed to hold it'])
  })

  test('a writer is seen behind many readers, and a reader behind a writer that readers hide', () => {
    const readers = [read('a', 10, 100), read('b', 11, 20), read('c', 12, 15)]
    expect(messages(...readers, write('w', 30))).toEqual(['w acquired it while a believed to hold it shared'])
    const late = messages(write('w', 5, 40), read('a', 10), read('b', 45))
    expect(late).toEqual(['a acquired it shared while w believed to hold it'])
  })

  test('a dead reader keeps writers out, and no readers', () => {
    const open = [
      ...write('a', 10),
      begin('r', 15, 'shared'),
      ...release('a', 50),
      refused('r', 'shared', 300),
    ]
    const found = (mode: Mode) =>
      checkHistory(open, { handOff: { ...handOff, remains: [{ lock, mode, fromMs: 0, toMs: 500 }] } })
        .violations
    expect(found('shared')).toHaveLength(1)
    expect(found('exclusive')).toEqual([])
  })

  test('a writer whose lock is in doubt is the owner of the read lock that it takes besides', () => {
    const downgrade = [write('a', 10, 10), read('a', 20, 100), release('a', 40, 'exclusive')]
    const told: HistoryEvent = { kind: 'lost', atMs: 50, ...of('a'), reason: 'gone' }
    expect(check(...downgrade, [loss], [told])).toMatchObject({ violations: [], excused: [{}] })
    // A hold that was released completely cannot be lost.
    expect(messages(...downgrade, release('a', 45, 'shared'), [loss], [told])).toHaveLength(1)
  })

  test('a loss of data excuses a reader that a writer does not know of', () => {
    expect(check(write('a', 10), [loss], read('b', 30))).toMatchObject({ violations: [], excused: [{}] })
    const known = check(write('a', 10), [loss], write('b', 30), read('c', 40))
    expect(known.excused.map(({ message }) => message[0])).toEqual(['b'])
    expect(known.violations.map(({ message }) => message[0])).toEqual(['c'])
  })
})

describe('an owner with both', () => {
  test('takes shared what it has exclusively, and lets readers in from then on', () => {
    const downgraded = [write('a', 10), read('a', 20), release('a', 30, 'exclusive', 'still-held')]
    expect(check(...downgraded, read('b', 40))).toMatchObject(isClean)
    expect(messages(...downgraded, write('b', 40))).toEqual(['b acquired it while a believed to hold it'])
    expect(messages(...downgraded, read('b', 25))).toEqual([
      'b acquired it shared while a believed to hold it',
    ])
    expect(check(...downgraded, release('a', 50, 'shared'), write('b', 60))).toMatchObject(isClean)
  })

  test('hides no writer that goes on writing', () => {
    const stale = write('z', 5, 900)
    const downgraded = [write('a', 30), read('a', 31), release('a', 35, 'exclusive', 'still-held')]
    const report = check(stale, [loss], ...downgraded, read('b', 40))
    expect(report.excused.map(({ message }) => message[0])).toEqual(['a', 'b'])
  })

  test('stays exclusive when the shared level goes first', () => {
    const inner = [write('a', 10), read('a', 20), release('a', 30, 'shared', 'still-held')]
    expect(messages(...inner, read('b', 40))).toHaveLength(1)
    expect(check(...inner, release('a', 50), read('b', 60))).toMatchObject(isClean)
  })

  test('the mode of a release may be left out when there is no choice', () => {
    expect(check(read('a', 10), release('a', 20), write('b', 30))).toMatchObject(isClean)
    const both = [write('a', 10), read('a', 20), release('a', 30, undefined, 'still-held'), read('b', 40)]
    expect(check(...both, release('a', 50), release('b', 60), write('c', 70))).toMatchObject(isClean)
  })

  test('is never let in exclusively while it shares', () => {
    const upgrade = [read('a', 10), write('a', 20)]
    expect(messages(...upgrade)).toEqual(['a acquired it while a believed to hold it shared'])
  })

  test('is told of a false "not the owner" also after the writing half was released', () => {
    const half = [write('a', 10), read('a', 20), release('a', 30, 'exclusive', 'released')]
    const told = release('a', 50, 'shared').map((event) => ({ ...event, outcome: 'lost' }) as HistoryEvent)
    expect(check(...half, told).violations).toMatchObject([{ check: 'false-not-owner' }])
  })
})

describe('hand-off among readers and writers', () => {
  const wanted = (name: string, mode: Mode) => [begin(name, 20, mode), refused(name, mode, 400)]

  test('what readers hold is not free for a writer, until the last of them leaves', () => {
    const readers = [read('a', 10), read('b', 15), release('a', 50)]
    expect(check(...readers, wanted('w', 'exclusive'))).toMatchObject(isClean)
    const left = check(...readers, wanted('w', 'exclusive'), release('b', 60))
    expect(left.violations.map(({ message }) => message)).toEqual([
      'free for 100 ms while attempt w-exclusive of process-w waited',
    ])
  })

  test('what a writer has left is open to all readers, not only to the first', () => {
    const served = [write('a', 10), release('a', 50), read('b', 55)]
    expect(messages(...served, wanted('c', 'shared'))).toEqual([
      'open to readers for 100 ms while attempt c-shared of process-c waited',
    ])
  })

  test('a reader may have to wait for a writer that wants it, or that took it', () => {
    const free = [write('a', 10), release('a', 50), wanted('c', 'shared')]
    expect(check(...free, [begin('w', 120, 'exclusive'), refused('w', 'exclusive', 130)])).toMatchObject(
      isClean,
    )
    expect(check(...free, write('w', 150))).toMatchObject(isClean)
    expect(messages(...free, [begin('w', 151, 'exclusive'), refused('w', 'exclusive', 160)])).toHaveLength(1)
  })

  test.each<Outcome>(['still-held', 'released'])(
    'a writer that goes on as a reader lets readers in (%s)',
    (outcome) => {
      const downgraded = [write('a', 10), read('a', 15), release('a', 50, 'exclusive', outcome)]
      expect(messages(...downgraded, wanted('c', 'shared'))).toHaveLength(1)
      expect(check(...downgraded, wanted('w', 'exclusive'))).toMatchObject(isClean)
    },
  )
})

describe('overtaking among readers', () => {
  const fifo = { maxOvertakes: 0, slackMs: 1 }
  const late = (name: string, mode: Mode): HistoryEvent[] => [
    begin(name, 30, mode),
    { kind: 'acquired', atMs: 40, ...of(name), attempt: `${name}-${mode}`, trustedUntilMs: 45 },
  ]
  const early = (mode: Mode): HistoryEvent[] => [
    begin('w', 10, mode),
    { kind: 'acquired', atMs: 50, ...of('w'), attempt: `w-${mode}`, trustedUntilMs: 60 },
  ]

  test.each<[Mode, Mode, number]>([
    ['shared', 'shared', 0],
    ['shared', 'exclusive', 1],
    ['exclusive', 'shared', 1],
  ])('a %s caller that a later %s one passes was overtaken %i times', (first, second, times) => {
    const events = [...early(first), ...late('b', second)]
    expect(checkHistory(events, { fifo }).violations).toHaveLength(times)
  })
})
