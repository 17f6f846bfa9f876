import { withCells } from '../cells.mjs'
import { measured } from '../comparison.mjs'
import { FEATURE_SETTING } from '../contestants/index.mjs'
import { measure, warmUp } from '../measure.mjs'
import { bars } from '../report/charts.mjs'
import { decimals, ratio, spread, thousands } from '../report/table.mjs'
import { interleaved } from '../rounds.mjs'

const FLOWS = 100

/** Costs of each feature of Holdfast: one after the other beside the plain lock, 100 flows. */
export const features = {
  id: 'features',
  title: 'Holdfast: each feature on and off',
  full: { warmUpMs: 1_200, rounds: 3, ms: 300, flows: FLOWS },
  small: { warmUpMs: 1, rounds: 1, ms: 1, flows: 5 },

  async run(context, { warmUpMs, rounds, ms, flows }) {
    const what = { settings: [FEATURE_SETTING], flows, scenario: 'features', atMostMs: 120_000 }
    return withCells(context, what, async (cells) => {
      const turn = (cell) => measure(cell, { flows, ms }, context)
      await warmUp(cells, { flows, ms: warmUpMs }, context)
      const figures = await interleaved(cells, turn, { rounds, what: 'features', warmUp: false }, context)
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
