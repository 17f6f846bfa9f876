import { describe, expect, test } from '@jest/globals'
import {
  checkHistory,
  type HistoryEvent,
  type HistoryReport,
  type Mode,
  seededRandom,
} from '@holdfast/faults/harness'

interface Turn {
  readonly owner: string
  readonly beginMs: number
  readonly startMs: number
  readonly endMs: number
  readonly token: number
  readonly mode: Mode
}

interface Run {
  readonly turns: Turn[]
  readonly losses: { readonly fromMs: number; readonly toMs: number }[]
}

const randomRun = (seed: number): Run => {
  // Whole numbers, so that many moments coincide.
  const random = seededRandom(seed).whole
  // Every other run is of a read-write lock, mostly read.
  const readers = seed % 2 === 0 ? 70 : 0
  const turns = Array.from({ length: 25 }, (_, index) => {
    const beginMs = random(60)
    const startMs = beginMs + random(10)
    const endMs = startMs + 1 + random(6)
    const mode: Mode = random(100) < readers ? 'shared' : 'exclusive'
    return { owner: `o${index}`, beginMs, startMs, endMs, token: random(20), mode }
  })
  const losses = Array.from({ length: random(4) }, () => {
    const fromMs = random(60)
    return { fromMs, toMs: fromMs + random(5) }
  })
  return { turns: turns.sort((a, b) => a.startMs - b.startMs), losses }
}

const lock = 'lock'
const eventsOf = ({ turns, losses }: Run): HistoryEvent[] => [
  ...turns.flatMap(({ owner, beginMs, startMs, endMs, token, mode }): HistoryEvent[] => [
    { kind: 'acquire-begin', atMs: beginMs, process: owner, lock, attempt: 1, mode },
    {
      kind: 'acquired',
      atMs: startMs,
      process: owner,
      lock,
      attempt: 1,
      owner,
      trustedUntilMs: endMs,
      token,
    },
  ]),
  ...losses.flatMap(({ fromMs, toMs }, index): HistoryEvent[] => [
    { kind: 'fault', atMs: fromMs, process: 'test', name: `f${index}`, class: 'data-loss' },
    { kind: 'healed', atMs: toMs, process: 'test', name: `f${index}` },
  ]),
]

const isExcused = ({ losses }: Run, earlier: Turn, later: Turn): boolean =>
  losses.some(({ fromMs, toMs }) => fromMs <= later.startMs && toMs >= earlier.startMs)

type Rivals = (later: Turn, index: number) => Turn[]
/** The owners that break the rule, found by comparing everybody with everybody. */
const compareAll = (run: Run, rivals: Rivals) => {
  const violations: string[] = []
  const excused: string[] = []
  run.turns.forEach((later, index) => {
    const found = rivals(later, index)
    if (found.some((earlier) => !isExcused(run, earlier, later))) violations.push(later.owner)
    else if (found.length > 0) excused.push(later.owner)
  })
  return { violations: violations.sort(), excused: excused.sort() }
}

const reported = (run: Run, check: 'overlap' | 'token-order') => {
  const report = checkHistory(eventsOf(run))
  const owners = (found: typeof report.violations) =>
    found
      .filter((violation) => violation.check === check)
      .map(({ events }) => events.findLast((event) => event.kind === 'acquired')?.owner)
      .sort()
  return { violations: owners(report.violations), excused: owners(report.excused) }
}

const releaseOf = ({ owner, endMs }: Turn): HistoryEvent[] => {
  const of = { atMs: endMs, process: owner, lock, owner }
  return [
    { kind: 'release-begin', ...of },
    { kind: 'released', ...of, outcome: 'released' },
  ]
}

const isMissed = ({ turns }: Run, { endMs }: Turn, limitMs: number, mode: Mode): boolean => {
  const untilMs = endMs + limitMs
  const waited = turns.some((turn) => turn.mode === mode && turn.beginMs <= endMs && turn.startMs > untilMs)
  const barring = turns.filter((turn) => mode === 'exclusive' || turn.mode === 'exclusive')
  const isTaken = barring.some((turn) => turn.startMs <= untilMs && turn.endMs > endMs)
  const isWanted = barring.some((turn) => turn.beginMs <= untilMs && turn.startMs >= endMs)
  return waited && !isTaken && !(mode === 'shared' && isWanted)
}
const isDisturbed = ({ losses }: Run, { endMs }: Turn, { limitMs = 0, calmMs = 0 }): boolean =>
  losses.some(({ fromMs, toMs }) => fromMs <= endMs + limitMs && toMs + calmMs >= endMs)

describe('random histories, compared with a check of every pair', () => {
  const seeds = Array.from({ length: 300 }, (_, index) => index + 1)

  test('finds the same overlaps', () => {
    for (const seed of seeds) {
      const run = randomRun(seed)
      const before: Rivals = (later, index) =>
        run.turns
          .slice(0, index)
          .filter(({ startMs, endMs }) => endMs > later.startMs && later.endMs > startMs)
          .filter(({ mode }) => mode === 'exclusive' || later.mode === 'exclusive')
      expect({ seed, ...reported(run, 'overlap') }).toEqual({ seed, ...compareAll(run, before) })
    }
  })

  test('finds the same tokens out of order', () => {
    for (const seed of seeds) {
      const run = randomRun(seed)
      const before: Rivals = (later) =>
        run.turns.filter(({ startMs, token }) => startMs < later.beginMs && token >= later.token)
      expect({ seed, ...reported(run, 'token-order') }).toEqual({ seed, ...compareAll(run, before) })
    }
  })

  test.each([0, 1, 3])('finds the same waiters that are overtaken more than %i times', (maxOvertakes) => {
    for (const seed of seeds) {
      const run = { ...randomRun(seed), losses: [] }
      const { violations } = checkHistory(eventsOf(run), { fifo: { maxOvertakes, slackMs: 2 } })
      const found = violations
        .filter(({ check }) => check === 'overtaking')
        .map(({ events }) => events[0]?.process)
      const expected = run.turns.filter(
        (waiter) =>
          run.turns
            .filter(({ beginMs, startMs }) => beginMs > waiter.beginMs + 2 && startMs < waiter.startMs)
            .filter(({ mode }) => mode === 'exclusive' || waiter.mode === 'exclusive').length > maxOvertakes,
      )
      expect({ seed, found: found.sort() }).toEqual({
        seed,
        found: expected.map(({ owner }) => owner).sort(),
      })
    }
  })

  test('finds the same releases that nobody was told of', () => {
    const handOff = { limitMs: 4, calmMs: 1 }
    for (const seed of seeds) {
      const run = randomRun(seed)
      const events = eventsOf(run).concat(run.turns.flatMap(releaseOf))
      const found = (report: HistoryReport['violations']) =>
        report
          .filter(({ check }) => check === 'hand-off')
          .map(({ events }) => events.find(({ kind }) => kind === 'released')?.process)
          .sort()
      const { violations, excused } = checkHistory(events, { handOff })
      const missed = (['exclusive', 'shared'] as const).flatMap((mode) =>
        run.turns.filter((turn) => isMissed(run, turn, handOff.limitMs, mode)),
      )
      const [explained, unexplained] = [true, false].map((wanted) =>
        missed.filter((turn) => isDisturbed(run, turn, handOff) === wanted).map(({ owner }) => owner),
      )
      expect({ seed, violations: found(violations), excused: found(excused) }).toEqual({
        seed,
        violations: unexplained!.sort(),
        excused: explained!.sort(),
      })
    }
  })
})
