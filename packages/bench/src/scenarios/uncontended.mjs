import { inSettings, measured } from '../comparison.mjs'
import { SETTINGS } from '../contestants/index.mjs'
import { withCells } from '../cells.mjs'
import { roundsOf, warmUp } from '../measure.mjs'
import { bars as barChart, lines } from '../report/charts.mjs'
import { decimals, ratio, spread, thousands } from '../report/table.mjs'
import { callsProblems } from '../calls.mjs'
import { assertSameCommands } from '../same-commands.mjs'
import { uncontendedBars } from './uncontended-bars.mjs'

const AT_MOST_MS = 300_000
const equal = SETTINGS.filter(({ id }) => id !== 'default')

/** Lock and unlock of a lock that nobody else wants, by so many flows, each with a lock of its own. */
export const uncontended = {
  id: 'uncontended',
  title: 'Uncontended: throughput',
  full: {
    mainFlows: 100,
    warmUpMs: 1_500,
    rounds: 5,
    ms: 350,
    otherRounds: 2,
    otherMs: 200,
    otherFlows: [1, 10],
  },
  small: {
    mainFlows: 10,
    warmUpMs: 1,
    rounds: 1,
    ms: 1,
    otherRounds: 1,
    otherMs: 1,
    otherFlows: [1],
    counted: true,
  },

  async run(context, params) {
    await assertSameCommands(context.url, context.runId)
    const what = { scenario: 'pairs', settings: SETTINGS, flows: mostFlows(params), atMostMs: AT_MOST_MS }
    const { results, problems } = await withCells(context, what, (cells) => inCells(cells, params, context))
    problems.push(...(await keysLeft(context)))
    return { mainFlows: params.mainFlows, results, problems }
  },

  problems: ({ results, problems }) => [
    ...problems,
    ...results.flatMap(({ setting, name, failure }) => (failure ? [`${name} (${setting}): ${failure}`] : [])),
  ],

  bars: uncontendedBars,

  tables({ results, mainFlows }) {
    const main = results.filter(({ flows }) => flows === mainFlows)
    const counts = [...new Set(results.map(({ flows }) => flows))].sort((a, b) => a - b)
    return [
      ...SETTINGS.map(({ id, title }) => ({
        title: `${title}, ${mainFlows} flows`,
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

  charts({ results, mainFlows }) {
    const main = measured(results).filter(({ flows }) => flows === mainFlows)
    const names = [...new Set(main.map(({ name }) => name))]
    return [
      barChart({
        file: 'uncontended.svg',
        title: `Lock and unlock, ${mainFlows} flows: pairs per second`,
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

const mostFlows = ({ mainFlows, otherFlows }) => Math.max(mainFlows, ...otherFlows)

const inCells = async (cells, params, context) => {
  const { mainFlows, warmUpMs, rounds, ms, otherRounds, otherMs, otherFlows, counted } = params
  const problems = counted ? await callsProblems(cells, { flows: mainFlows }, context) : []
  await warmUp(cells, { flows: mainFlows, ms: warmUpMs }, context)
  const what = 'uncontended'
  const main = { flows: mainFlows, ms, rounds, warmUp: false, what }
  const results = await roundsOf(cells, main, context)
  const others = cells.filter(({ setting }) => equal.some(({ id }) => id === setting))
  for (const flows of otherFlows) {
    results.push(...(await roundsOf(others, { flows, ms: otherMs, rounds: otherRounds, what }, context)))
  }
  return { results, problems }
}

const keysLeft = async (context) => {
  const left = await context.info.keysWith(context.name('pairs'))
  return left.length === 0 ? [] : [`${left.length} keys were left behind, as ${left[0]}`]
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
