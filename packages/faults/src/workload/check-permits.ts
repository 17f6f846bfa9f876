import { isCalm, usedUntilMs, type SemaphoreEvent, type Span, type Use } from './permit-uses.js'

const GRACE_MS = 2_000
/** On a machine that other programs may keep busy. */
const HAND_OVER_MS = 1_000
const CALM_MS = 500
// Without a fault on the wires an undoing that its caller does not wait for has come through by then.
const UNDOING_MS = 1_000
// From the last count to the answer to whoever waits.
const OPENING_MS = 1_000

/** Never more in use than there are permits, on the clock that all processes of a machine share. */
export const checkUse = (uses: readonly Use[], permits: number): { most: number; violations: string[] } => {
  let most = 0
  const violations: string[] = []
  for (const [name, ofName] of byName(uses)) {
    let inUse = 0
    for (const { use, change, atMs } of changesOf(ofName)) {
      inUse += change
      most = Math.max(most, inUse)
      if (inUse > permits && change > 0)
        violations.push(
          `I1 ${name}: ${inUse} of ${permits} permits in use at ${atMs.toFixed(1)}, with ${use}`,
        )
    }
  }
  return { most, violations }
}

const byName = (uses: readonly Use[]): Map<string, Use[]> => {
  const groups = new Map<string, Use[]>()
  for (const use of uses) {
    const group = groups.get(use.name)
    if (group) group.push(use)
    else groups.set(use.name, [use])
  }
  return groups
}

const changesOf = (uses: readonly Use[]): { use: string; atMs: number; change: number }[] =>
  uses
    .flatMap((use) => {
      const { takenMs, permits } = use
      if (takenMs === undefined || usedUntilMs(use) <= takenMs) return []
      return [
        { use: use.use, atMs: takenMs, change: permits },
        { use: use.use, atMs: usedUntilMs(use), change: -permits },
      ]
    })
    // A use that ends when something else begins is over.
    .toSorted((a, b) => a.atMs - b.atMs || a.change - b.change)

/** Every call ends in time, and what is released is taken by a caller that waits for it. */
export const checkWaits = (
  uses: readonly Use[],
  faults: readonly Span[],
  handOverMs = HAND_OVER_MS,
): string[] => [
  ...uses.flatMap((use) => late(use, faults)),
  ...[...byName(uses).values()].flatMap((ofName) => notHandedOver(ofName, faults, handOverMs)),
]

const late = ({ use, beginMs, endMs, killedMs, waitMs }: Use, faults: readonly Span[]): string[] => {
  if (endMs === undefined) return killedMs === undefined ? [`I4 ${use} never ended`] : []
  const healedMs = Math.max(...faults.filter(({ fromMs }) => fromMs <= endMs).map(({ toMs }) => toMs), 0)
  if (endMs <= Math.max(beginMs + waitMs, healedMs) + GRACE_MS) return []
  return [`I4 ${use} ended ${Math.round(endMs - beginMs - waitMs)} ms after its limit`]
}

/** A waiter takes what is released, or another caller does. */
const notHandedOver = (uses: readonly Use[], faults: readonly Span[], handOverMs: number): string[] =>
  uses.flatMap((given) => {
    const { giveMs: fromMs, givenMs, outcome } = given
    if (fromMs === undefined || givenMs === undefined || !isReturned(outcome)) return []
    const toMs = givenMs + handOverMs
    if (!isCalm(faults, { fromMs, toMs }, CALM_MS)) return []
    if (uses.some(({ takenMs = -1 }) => takenMs >= fromMs && takenMs <= toMs)) return []
    const waiting = uses.filter(
      ({ beginMs, waitMs, endMs, killedMs = Infinity }) =>
        beginMs < fromMs && waitMs > 0 && (endMs ?? killedMs) > toMs,
    )
    // A caller that wants no more than came back passes those that want more, of whichever process they are.
    const fitting = waiting.find(({ permits }) => permits <= given.permits)
    return fitting ? [`I4 ${fitting.use} waited ${handOverMs} ms for what ${given.use} had released`] : []
  })

const isReturned = (outcome = ''): boolean => ['released', 'undefined', 'true'].includes(outcome)

/** `inUse`: by the Redis that is not under test. */
export interface PoolAtRest {
  readonly name: string
  readonly free: number
  readonly inUse: number
}

/**
 * Of permits without an end: what is missing at rest is what killed processes had. What they had on its way at the
 * kill, to be taken or released, may have happened or not: that much is in doubt.
 */
export const checkPools = (
  uses: readonly Use[],
  atRest: readonly PoolAtRest[],
  { permits, calmWires }: { readonly permits: number; readonly calmWires: boolean },
): { lost: number; held: number; inDoubt: number; violations: string[] } => {
  const total = { lost: 0, held: 0, inDoubt: 0, violations: [] as string[] }
  for (const { name, free, inUse } of atRest) {
    const ofDead = uses.filter((use) => use.name === name && use.killedMs !== undefined)
    const held = sum(ofDead.filter(({ takenMs, giveMs }) => takenMs !== undefined && giveMs === undefined))
    const inDoubt = sum(ofDead.filter((use) => isInDoubt(use, calmWires)))
    const lost = permits - free
    total.lost += lost
    total.held += held
    total.inDoubt += inDoubt
    if (lost < held || lost > held + inDoubt) {
      const range = `${held} to ${held + inDoubt}`
      total.violations.push(
        `I2 ${name}: ${lost} of ${permits} permits are missing; killed processes had ${range}`,
      )
    }
    // A caller that is noted there had begun to use what it took, and had not begun to release it.
    if (inUse > lost)
      total.violations.push(`I2 ${name}: killed processes used ${inUse} permits, but ${lost} are missing`)
  }
  return total
}

const isInDoubt = (
  { end, endMs = 0, giveMs, givenMs, outcome, killedMs = 0 }: Use,
  calmWires: boolean,
): boolean => {
  if (end === undefined) return true
  if (end === 'taken')
    return giveMs !== undefined && (givenMs === undefined || outcome === 'REDIS_UNAVAILABLE')
  return !calmWires || endMs > killedMs - UNDOING_MS
}

const sum = (uses: readonly Use[]): number => uses.reduce((total, { permits }) => total + permits, 0)

/** One latch, how often it was to be counted down, and what it counts in the end, if anybody has asked. */
export interface LatchAtRest {
  readonly latch: string
  readonly counts: number
  readonly left?: number
}

const LATCH_KINDS = ['count', 'counted', 'passed', 'closed', 'await'] as const

/** A latch opens when it was counted down as often as it was set to, not before, and for all that wait. */
export const checkLatches = (
  events: readonly SemaphoreEvent[],
  latches: readonly LatchAtRest[],
  faults: readonly Span[],
  calmMs = 0,
): { rounds: number; passed: number; closed: number; violations: string[] } => {
  const total = { rounds: latches.length, passed: 0, closed: 0, violations: [] as string[] }
  for (const { latch, counts, left } of latches) {
    const ofLatch = events.filter((event) => 'latch' in event && event.latch === latch)
    const [begun = [], counted = [], passed = [], closed = [], awaited = []] = LATCH_KINDS.map((kind) =>
      ofLatch.filter((event) => event.kind === kind),
    )
    // One that was never set is open.
    const earliestMs = counts === 0 ? -Infinity : (begun[counts - 1]?.atMs ?? Infinity)
    const latestMs = counts === 0 ? -Infinity : (counted[counts - 1]?.atMs ?? Infinity)
    const begunMs = ({ atMs, process }: SemaphoreEvent): number =>
      awaited.findLast((each) => each.process === process && each.atMs <= atMs)?.atMs ?? -Infinity
    const waits = [
      ...passed.map((each) => ({ fromMs: Math.max(latestMs, begunMs(each)), toMs: each.atMs })),
      ...closed.map(({ atMs }) => ({ fromMs: latestMs, toMs: atMs })),
    ]
    total.passed += passed.length
    total.closed += closed.length
    const isLeft =
      left === undefined ||
      (left >= Math.max(0, counts - begun.length) && left <= Math.max(0, counts - counted.length))
    const range = `${counts - begun.length} to ${counts - counted.length}`
    total.violations.push(
      ...passed
        .filter(({ atMs }) => atMs < earliestMs)
        .map(() => `I1 ${latch} let a waiter pass after ${begun.length} of ${counts} counts`),
      ...waits
        .filter((wait) => wait.toMs > wait.fromMs + OPENING_MS && isCalm(faults, wait, calmMs))
        .map(
          ({ fromMs, toMs }) => `I4 ${latch} kept a waiter ${Math.round(toMs - fromMs)} ms after it opened`,
        ),
      ...(isLeft ? [] : [`I2 ${latch} counts ${left} at rest, it should be ${range}`]),
    )
  }
  return total
}
