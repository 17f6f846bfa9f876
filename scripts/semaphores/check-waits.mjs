import { byName } from './read-uses.mjs'

const GRACE_MS = 2_000
const HAND_OFF_MS = 1_000
const CALM_MS = 500

/**
 * Every call comes to an end in time, and what is given back is taken by somebody who waits for it.
 *
 * @param {import('./read-uses.mjs').Read[]} uses
 * @param {{ fromMs: number, toMs: number }[]} faults
 * @returns {string[]} problems
 */
export const checkWaits = (uses, faults) => [
  ...uses.flatMap((use) => late(use, faults)),
  ...[...byName(uses).values()].flatMap((ofName) => handOffs(ofName, faults)),
]

const late = ({ use, beginMs, endMs, killedMs, waitMs }, faults) => {
  if (endMs === undefined) return killedMs === undefined ? [`I4 ${use} never ended`] : []
  const dueMs = beginMs + waitMs + GRACE_MS
  const healedMs = Math.max(...faults.filter(({ fromMs }) => fromMs <= endMs).map(({ toMs }) => toMs), 0)
  if (endMs <= Math.max(dueMs, healedMs + GRACE_MS)) return []
  return [`I4 ${use} ended ${Math.round(endMs - beginMs - waitMs)} ms after its limit`]
}

/** Whoever waits takes what is given back, or somebody else does. */
const handOffs = (uses, faults) => {
  const problems = []
  const isCalm = (fromMs, toMs) =>
    !faults.some((fault) => fault.fromMs <= toMs && fault.toMs + CALM_MS >= fromMs)
  for (const given of uses.filter(({ outcome }) => isReturned(outcome))) {
    const [fromMs, toMs] = [given.giveMs, given.givenMs + HAND_OFF_MS]
    if (!isCalm(fromMs, toMs)) continue
    if (uses.some(({ takenMs }) => takenMs >= fromMs && takenMs <= toMs)) continue
    const waiting = uses.filter((each) => each.beginMs < fromMs && each.waitMs > 0 && endOf(each) > toMs)
    // A caller that wants no more than came back passes those that want more, of whichever process they are.
    const fitting = waiting.find(({ permits }) => permits <= given.permits)
    if (fitting) {
      problems.push(`I4 ${fitting.use} waited ${HAND_OFF_MS} ms for what ${given.use} had given back`)
    }
  }
  return problems
}

const endOf = ({ endMs, killedMs = Infinity }) => endMs ?? killedMs

const isReturned = (outcome) => ['released', 'undefined', 'true'].includes(outcome)
