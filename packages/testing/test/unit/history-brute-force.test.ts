import { describe, expect, test } from '@jest/globals'
import { checkHistory, type HistoryEvent } from '@holdfast/testing'

interface Turn {
  readonly owner: string
  readonly beginMs: number
  readonly startMs: number
  readonly endMs: number
  readonly token: number
}

interface Run {
  readonly turns: Turn[]
  readonly losses: { readonly fromMs: number; readonly toMs: number }[]
}

const seeded = (seed: number) => {
  let state = seed
  // Whole numbers, so that many moments coincide.
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const randomRun = (seed: number): Run => {
  const random = seeded(seed)
  const turns = Array.from({ length: 25 }, (_, index) => {
    const beginMs = random(60)
    const startMs = beginMs + random(10)
    return { owner: `o${index}`, beginMs, startMs, endMs: startMs + 1 + random(6), token: random(20) }
  })
  const losses = Array.from({ length: random(4) }, () => {
    const fromMs = random(60)
    return { fromMs, toMs: fromMs + random(5) }
  })
  return { turns: turns.sort((a, b) => a.startMs - b.startMs), losses }
}

const lock = 'lock'
const eventsOf = ({ turns, losses }: Run): HistoryEvent[] => [
  ...turns.flatMap(({ owner, beginMs, startMs, endMs, token }): HistoryEvent[] => [
    { kind: 'acquire-begin', atMs: beginMs, process: owner, lock, attempt: 1 },
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

describe('random histories, compared with a check of every pair', () => {
  const seeds = Array.from({ length: 300 }, (_, index) => index + 1)

  test('finds the same overlaps', () => {
    for (const seed of seeds) {
      const run = randomRun(seed)
      const before: Rivals = (later, index) =>
        run.turns
          .slice(0, index)
          .filter(({ startMs, endMs }) => endMs > later.startMs && later.endMs > startMs)
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
          run.turns.filter(({ beginMs, startMs }) => beginMs > waiter.beginMs + 2 && startMs < waiter.startMs)
            .length > maxOvertakes,
      )
      expect({ seed, found: found.sort() }).toEqual({
        seed,
        found: expected.map(({ owner }) => owner).sort(),
      })
    }
  })
})
