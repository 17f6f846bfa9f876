import { withCells } from '../cells.mjs'
import { fastestPeer, measured, speed } from '../comparison.mjs'
import { fastest, labelOf } from '../contestants/fastest.mjs'
import { measure, warmUp, whoIs } from '../measure.mjs'
import { withNeighbour } from '../noisy-neighbour.mjs'
import { bars as barChart } from '../report/charts.mjs'
import { decimals, ratio, withSlowest } from '../report/table.mjs'
import { interleaved } from '../rounds.mjs'
import { summary } from '../statistics.mjs'

const LIFE = { atMostMs: 180_000 }

/** Lock and unlock while another process takes one core, and while none does. */
export const noisyNeighbour = {
  id: 'neighbour',
  title: 'Uncontended: beside a process that takes one core',
  full: { flows: 100, warmUpMs: 1_000, rounds: 7, ms: 250, leadInMs: 100 },
  small: { flows: 4, warmUpMs: 1, rounds: 1, ms: 20 },

  run(context, params) {
    const what = { scenario: 'neighbour', settings: fastest({ withRaw: true }), flows: params.flows, ...LIFE }
    return withNeighbour({ ...LIFE, signal: context.signal }, (neighbour) =>
      withCells(context, what, (cells) => inCells(cells, neighbour, params, context)),
    )
  },

  problems: ({ results, part }) => [
    ...results.flatMap(({ setting, name, failure }) => (failure ? [`${name} (${setting}): ${failure}`] : [])),
    ...(part.max > 0 ? [] : ['the neighbour did nothing']),
  ],

  bars({ results, flows }) {
    const beside = measured(results).filter(({ noisy }) => noisy)
    const peer = fastestPeer(beside)
    return peer === undefined
      ? []
      : beside
          .filter(({ kind }) => kind === 'holdfast')
          .map((each) => ({
            text: `${flows} flows beside a noisy neighbour, ${each.name}: pairs/s, of ${peer.name} (${peer.setting}), the best peer`,
            value: speed(each) / speed(peer),
            least: 1.3,
          }))
  },

  tables({ results, flows, part }) {
    const [quiet, beside] = [false, true].map((noisy) => results.filter((each) => each.noisy === noisy))
    const peer = fastestPeer(beside)
    return [
      {
        title: `${flows} flows: pairs/s, and the slowest round of the median. The neighbour had ${decimals(part.median, 2)} of a core`,
        head: ['contestant', 'without', 'beside it', 'of without', 'beside it, of best peer'],
        rows: quiet.map((each, i) => rowOf(each, beside[i], peer)),
      },
    ]
  },

  charts: ({ results, flows }) => [
    barChart({
      file: 'neighbour.svg',
      title: `Lock and unlock, ${flows} flows: pairs per second`,
      groups: [...new Set(measured(results).map(labelOf))].map((name) => ({
        name,
        values: Object.fromEntries(
          measured(results)
            .filter((each) => labelOf(each) === name)
            .map((each) => [each.noisy ? 'beside a noisy neighbour' : 'without', speed(each)]),
        ),
      })),
    }),
  ],
}

const inCells = async (cells, neighbour, params, context) => {
  const { flows, warmUpMs, rounds, ...how } = params
  await warmUp(cells, { flows, ms: warmUpMs }, context)
  // Each without it, then at once with it: what else slows the machine down is in both.
  const turns = cells.flatMap((cell) => [false, true].map((noisy) => ({ cell, noisy })))
  const turn = ({ cell, noisy }) => {
    const one = () => measure(cell, { flows, ...how }, context)
    return noisy ? neighbour.during(one) : one()
  }
  const figures = await interleaved(turns, turn, { rounds, what: 'noisy neighbour' }, context)
  return {
    flows,
    part: summary(neighbour.parts),
    results: turns.map(({ cell, noisy }, i) => ({ ...whoIs(cell), noisy, ...figures[i] })),
  }
}

const rowOf = (quiet, beside, peer) => {
  const failed = [quiet, beside].find(({ failure }) => failure !== undefined)
  if (failed) return [labelOf(quiet), `failed: ${failed.failure}`, '', '', '']
  return [
    labelOf(quiet),
    withSlowest(quiet.pairsPerSecond),
    withSlowest(beside.pairsPerSecond),
    ratio(speed(beside) / speed(quiet)),
    ratio(peer && speed(beside) / speed(peer)),
  ]
}
