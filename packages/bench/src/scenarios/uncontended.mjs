import { best, inSettings, measured } from '../comparison.mjs'
import { SETTINGS } from '../contestants/index.mjs'
import { withCells } from '../cells.mjs'
import { measure } from '../measure.mjs'
import { bars as barChart, lines } from '../report/charts.mjs'
import { decimals, ratio, spread, thousands } from '../report/table.mjs'
import { interleaved } from '../rounds.mjs'
import { callsProblems } from '../calls.mjs'
import { assertSameCommands } from '../same-commands.mjs'

const MAIN_FLOWS = 100
const equal = SETTINGS.filter(({ id }) => id !== 'default')

/** Lock and unlock of a lock that nobody else wants, by so many flows, each with a lock of its own. */
export const uncontended = {
  id: 'uncontended',
  title: 'Uncontended: throughput',
  full: { rounds: 5, ms: 500, otherRounds: 3, otherMs: 250, otherFlows: [1, 10, 1_000] },
  small: { calls: true, flows: 10 },

  async run(context, params) {
    await assertSameCommands(context.url, context.runId)
    if (params.calls) return { problems: await countedCalls(params.flows, context) }
    const flows = Math.max(MAIN_FLOWS, ...params.otherFlows)
    const main = await withCells(context, { settings: SETTINGS, flows, scenario: 'pairs' }, (cells) =>
      resultsOf(cells, MAIN_FLOWS, params.rounds, params.ms, context),
    )
    const others = await withCells(context, { settings: equal, flows, scenario: 'pairs' }, async (cells) => {
      const all = []
      for (const count of params.otherFlows) {
        all.push(...(await resultsOf(cells, count, params.otherRounds, params.otherMs, context)))
      }
      return all
    })
    return { results: [...main, ...others], problems: await keysLeft(context) }
  },

  problems: ({ results = [], problems = [] }) => [
    ...problems,
    ...results.flatMap(({ setting, name, failure }) => (failure ? [`${name} (${setting}): ${failure}`] : [])),
  ],

  bars({ results }) {
    const main = measured(results).filter(({ flows }) => flows === MAIN_FLOWS)
    const ofPeers = main.filter(({ kind }) => kind === 'peer')
    const peer = best(ofPeers, ({ pairsPerSecond }) => -pairsPerSecond.median)
    const raws = main.filter(({ kind }) => kind === 'raw')
    if (!peer) return []
    return main
      .filter(({ kind }) => kind === 'holdfast')
      .flatMap((each) => {
        const who = `${each.name}, auto-pipelining ${each.setting}`
        const raw = raws.find(({ setting }) => setting === each.setting)
        const cheapest = (figure) => best(ofPeers, (other) => other[figure].median)
        const cpu = (figure, of) => {
          const other = cheapest(figure)
          return {
            text: `${MAIN_FLOWS} flows, ${who}: CPU of ${of} per pair, of ${other.name} (${other.setting})`,
            value: each[figure].median / other[figure].median,
            most: 1,
          }
        }
        return [
          {
            text: `${MAIN_FLOWS} flows, ${who}: pairs/s of ${peer.name} (${peer.setting}), the best peer`,
            value: each.pairsPerSecond.median / peer.pairsPerSecond.median,
            least: 2,
          },
          cpu('clientMicros', 'the client'),
          cpu('redisMicros', 'Redis'),
          ...(raw
            ? [
                {
                  text: `${MAIN_FLOWS} flows, ${who}: pairs/s of the same scripts raw`,
                  value: each.pairsPerSecond.median / raw.pairsPerSecond.median,
                  least: 0.95,
                },
              ]
            : []),
        ]
      })
  },

  tables({ results }) {
    const main = results.filter(({ flows }) => flows === MAIN_FLOWS)
    const counts = [...new Set(results.map(({ flows }) => flows))].sort((a, b) => a - b)
    return [
      ...SETTINGS.map(({ id, title }) => ({
        title: `${title}, ${MAIN_FLOWS} flows`,
        head: ['contestant', 'pairs/s', 'min to max', 'client µs', 'Redis µs', 'of raw', 'of best peer'],
        rows: inSettings(main, id).map(rowOf),
      })),
      ...equal.map(({ id, title }) => ({
        title: `${title}: pairs/s by flows`,
        head: ['contestant', ...counts.map((count) => `${count}`)],
        rows: namesOf(results, id).map((name) => [
          name,
          ...counts.map((count) =>
            thousands(
              results.find((each) => each.setting === id && each.name === name && each.flows === count)
                ?.pairsPerSecond?.median,
            ),
          ),
        ]),
      })),
    ]
  },

  charts({ results }) {
    const main = measured(results).filter(({ flows }) => flows === MAIN_FLOWS)
    const names = [...new Set(main.map(({ name }) => name))]
    return [
      barChart({
        file: 'uncontended.svg',
        title: `Lock and unlock, ${MAIN_FLOWS} flows: pairs per second`,
        groups: names.map((name) => ({
          name,
          values: Object.fromEntries(
            main
              .filter((each) => each.name === name)
              .map((each) => [`auto-pipelining ${each.setting}`, each.pairsPerSecond.median]),
          ),
        })),
      }),
      lines({
        file: 'uncontended-flows.svg',
        title: 'Lock and unlock, auto-pipelining off: pairs per second by flows',
        x: 'flows',
        y: 'pairs/s',
        series: namesOf(results, 'off').map((name) => ({
          name,
          points: measured(results)
            .filter((each) => each.setting === 'off' && each.name === name)
            .map(({ flows, pairsPerSecond }) => [flows, pairsPerSecond.median])
            .sort(([a], [b]) => a - b),
        })),
      }),
    ]
  },
}

const countedCalls = async (flows, context) => {
  const what = { settings: SETTINGS, flows, scenario: 'pairs' }
  const problems = await withCells(context, what, (cells) => callsProblems(cells, context))
  return [...problems, ...(await keysLeft(context))]
}

const keysLeft = async (context) => {
  const left = await context.info.keysWith(context.name('pairs'))
  return left.length === 0 ? [] : [`${left.length} keys were left behind, as ${left[0]}`]
}

const resultsOf = async (cells, flows, rounds, ms, context) => {
  const { info, signal } = context
  const turn = (cell) => measure(cell.flows.slice(0, flows), { ms, info, signal })
  const figures = await interleaved(cells, turn, { rounds, what: `uncontended, ${flows} flows` }, context)
  return cells.map(({ setting, name, kind }, i) => ({ setting, name, kind, flows, ...figures[i] }))
}

const namesOf = (results, setting) => [
  ...new Set(results.filter((each) => each.setting === setting).map(({ name }) => name)),
]

const rowOf = (each) => {
  if (each.failure !== undefined) return [each.name, `failed: ${each.failure}`, '', '', '', '', '']
  return [
    each.name,
    thousands(each.pairsPerSecond.median),
    spread(each.pairsPerSecond),
    decimals(each.clientMicros.median, 1),
    decimals(each.redisMicros.median, 1),
    ratio(each.ofRaw),
    ratio(each.ofBestPeer),
  ]
}
