import { withCells } from '../cells.mjs'
import { measured } from '../comparison.mjs'
import { FEATURES } from '../contestants/holdfast.mjs'
import { measure } from '../measure.mjs'
import { bars } from '../report/charts.mjs'
import { decimals, ratio, spread, thousands } from '../report/table.mjs'
import { interleaved } from '../rounds.mjs'

const FLOWS = 100

/** What each feature of Holdfast costs: one after the other beside the plain lock, 100 flows. */
export const features = {
  id: 'features',
  title: 'Holdfast: each feature on and off',
  full: { rounds: 3, ms: 300, flows: FLOWS },
  small: { rounds: 1, ms: 1, flows: 5 },

  async run(context, { rounds, ms, flows }) {
    const settings = [{ id: 'features', autoPipelining: false, contestants: FEATURES }]
    return withCells(context, { settings, flows, scenario: 'features' }, async (cells) => {
      const { info, signal } = context
      const turn = (cell) => measure(cell.flows, { ms, info, signal })
      const figures = await interleaved(cells, turn, { rounds, what: 'features' }, context)
      return { flows, results: cells.map(({ name }, i) => ({ name, ...figures[i] })) }
    })
  },

  problems: ({ results }) => results.flatMap(({ name, failure }) => (failure ? [`${name}: ${failure}`] : [])),

  bars: () => [],

  tables({ results, flows }) {
    const plain = measured(results)[0]
    return [
      {
        title: `Auto-pipelining off, ${flows} flows`,
        head: ['what', 'pairs/s', 'min to max', 'client µs', 'Redis µs', 'of the plain lock'],
        rows: measured(results).map((each) => [
          each.name,
          thousands(each.pairsPerSecond.median),
          spread(each.pairsPerSecond),
          decimals(each.clientMicros.median, 1),
          decimals(each.redisMicros.median, 1),
          ratio(each.pairsPerSecond.median / plain.pairsPerSecond.median),
        ]),
      },
    ]
  },

  charts: ({ results, flows }) => [
    bars({
      file: 'features.svg',
      title: `Holdfast, each feature, ${flows} flows: pairs per second`,
      groups: measured(results).map(({ name, pairsPerSecond }) => ({
        name,
        values: { 'pairs/s': pairsPerSecond.median },
      })),
    }),
  ],
}
