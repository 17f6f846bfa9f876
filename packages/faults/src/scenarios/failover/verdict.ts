import { median, sum } from '../../run/table.js'
import { inMs, type Finding } from './clients.js'
import type { Round } from './round.js'

const both = (values: readonly number[], show: (value: number) => string): string =>
  `median ${show(median(values))}, at most ${show(Math.max(...values))}`

/** The findings of all rounds together. */
export const verdictOf = (
  rounds: readonly Round[],
  { leaseMs, allowanceMs, locks }: { leaseMs: number; allowanceMs: number; locks: number },
): Finding & { readonly figures: object } => {
  const losses = rounds.flatMap((round) => round.losses.map((loss) => ({ ...loss, stallMs: round.stallMs })))
  const told = losses.flatMap((loss) => (loss.toldMs === null ? [] : [{ ...loss, toldMs: loss.toldMs }]))
  const taken = losses.flatMap((loss) => (loss.takenMs === null ? [] : [{ ...loss, takenMs: loss.takenMs }]))
  const nextFirst = taken.filter(({ toldMs, takenMs }) => takenMs < (toldMs ?? Infinity))
  const overlaps = nextFirst.flatMap(({ toldMs, takenMs }) => (toldMs === null ? [] : [toldMs - takenMs]))
  const keptLost = sum(rounds.map((round) => round.keptLost))
  const nextHarmed = sum(rounds.map((round) => round.nextHarmed))
  const never = losses.length - told.length
  const idle = losses.length - taken.length
  const late = told.filter(({ toldMs, stallMs }) => toldMs > leaseMs / 3 + allowanceMs + stallMs).length
  const kept = rounds.length * locks
  const toldMs = told.map((loss) => loss.toldMs)
  const downMs = rounds.map((round) => round.downMs)
  const stallMs = Math.max(...rounds.map((round) => round.stallMs))
  const limit = `a third of a lease + ${allowanceMs} ms + stall`
  return {
    figures: {
      rounds: rounds.length,
      toldMs,
      downMs,
      overlapsMs: overlaps,
      never,
      late,
      keptLost,
      nextHarmed,
      idle,
    },
    lines: [
      `${rounds.length} fail-overs without WAIT, a lease of ${leaseMs} ms, ${locks} locks on the replica and ${locks} not`,
      `  down            ${both(downMs, inMs)}`,
      `  on the replica  ${kept - keptLost} of ${kept} kept`,
      `  not on it       ${losses.length} of ${losses.length} lost, ${taken.length} taken by another client`,
      ...(told.length === 0
        ? []
        : [
            `  told            ${both(toldMs, inMs)}`,
            `                  ${both(toldMs, (value) => `${(value / leaseMs).toFixed(2)} leases`)}`,
            `                  reasons: ${[...new Set(told.map(({ reason }) => reason))].join(', ')}`,
          ]),
      `  two believed    in ${nextFirst.length} of ${losses.length} cases the next holder had it first`,
      ...(overlaps.length === 0 ? [] : [`                  for ${both(overlaps, inMs)}`]),
      `  never told ${never}, told later than ${limit} ${late}`,
      `  next holders harmed ${nextHarmed}, locks that nobody could take ${idle}, longest stall here ${inMs(stallMs)}`,
    ],
    violations: [
      ...(never > 0 ? [`I3 ${never} holders were not told within two leases that they lost their lock`] : []),
      ...(late > 0 ? [`I3 ${late} holders were told later than ${limit} that they lost their lock`] : []),
      ...(keptLost > 0 ? [`I1 ${keptLost} locks were lost that the replica had`] : []),
      ...(nextHarmed > 0 ? [`I1 ${nextHarmed} locks were lost that had been taken after a fail-over`] : []),
      ...(idle > 0 ? [`I4 ${idle} locks could not be taken within two leases of a fail-over`] : []),
    ],
  }
}
