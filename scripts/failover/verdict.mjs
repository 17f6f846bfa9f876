import { median } from '../../packages/bench/src/statistics.mjs'

const ms = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`
const leases = (value, leaseMs) => `${(value / leaseMs).toFixed(2)} leases`
const sum = (values) => values.reduce((total, value) => total + value, 0)
const both = (values, show) => `median ${show(median(values))}, at most ${show(Math.max(...values))}`

/**
 * @param {import('./round.mjs').Round[]} rounds
 * @param {{ leaseMs: number, allowanceMs: number, locks: number }} promised
 * @returns {{ text: string, broken: number }}
 */
export const verdict = (rounds, { leaseMs, allowanceMs, locks }) => {
  const losses = rounds.flatMap((round) => round.losses.map((loss) => ({ ...loss, stallMs: round.stallMs })))
  const told = losses.filter(({ toldMs }) => toldMs !== null)
  const never = losses.length - told.length
  const late = told.filter(({ toldMs, stallMs }) => toldMs > leaseMs / 3 + allowanceMs + stallMs).length
  const taken = losses.filter(({ takenMs }) => takenMs !== null)
  const conflicts = taken.filter(({ toldMs, takenMs }) => takenMs < (toldMs ?? Infinity))
  const overlaps = conflicts.filter(({ toldMs }) => toldMs !== null)
  const keptLost = sum(rounds.map((round) => round.keptLost))
  const harmed = sum(rounds.map((round) => round.strangersHarmed))
  const idle = losses.length - taken.length
  const kept = rounds.length * locks
  const lines = [
    `${rounds.length} fail-overs without WAIT, a lease of ${leaseMs} ms, ${locks} locks on the replica and ${locks} not`,
    `  down            ${both(
      rounds.map((round) => round.downMs),
      ms,
    )}`,
    `  on the replica  ${kept - keptLost} of ${kept} kept`,
    `  not on it       ${losses.length} of ${losses.length} lost, ${taken.length} taken by somebody else`,
    ...(told.length === 0
      ? []
      : [
          `  told            ${both(
            told.map(({ toldMs }) => toldMs),
            ms,
          )}`,
          `                  ${both(
            told.map(({ toldMs }) => toldMs),
            (value) => leases(value, leaseMs),
          )}`,
          `                  reasons: ${[...new Set(told.map(({ reason }) => reason))].join(', ')}`,
        ]),
    `  two believed    in ${conflicts.length} of ${losses.length} cases the next holder had it first`,
    ...(overlaps.length === 0
      ? []
      : [
          `                  for ${both(
            overlaps.map(({ toldMs, takenMs }) => toldMs - takenMs),
            ms,
          )}`,
        ]),
    `  never told ${never}, told later than a third of a lease + ${allowanceMs} ms + stall ${late}`,
    `  next holders harmed ${harmed}, locks that nobody could take ${idle}, longest stall here ${ms(Math.max(...rounds.map((round) => round.stallMs)))}`,
  ]
  return { text: lines.join('\n'), broken: never + late + keptLost + harmed + idle }
}
