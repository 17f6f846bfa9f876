import { bars as barChart } from '../report/charts.mjs'
import { decimals, figure } from '../report/table.mjs'
import { withNetwork } from '../network.mjs'
import { quantile } from '../statistics.mjs'
import { withWorkers } from '../workers.mjs'
import { KIND_NAMES } from '../worker/turns.mjs'

const ONE_WAY_MS = 1
const AT_MOST_MS = 600_000
const FAIR = 'fair lock'
/** What makes grants, and what does not. */
const LEAST_SHARES = [
  [0.6, ['Holdfast withLock', "interop: 'none'"]],
  [
    0.4,
    ['pushedGrants: false', 'fenced lock', 'write lock', '@holdfast/redlock', '@holdfast/redis-semaphore'],
  ],
]

const settings = (list) =>
  list.flatMap(([contenders, holdMs, ms]) =>
    [false, true].map((isFar) => ({ contenders, holdMs, ms, thinkMs: holdMs / 4, isFar })),
  )

/** Several processes take one lock in turns and hold it for long: how evenly, and how long each waits. */
export const shares = {
  id: 'shares',
  title: 'Shares of a lock that is held for long',
  full: {
    settings: settings([
      [2, 200, 4_000],
      [6, 1, 1_500],
      [6, 40, 4_000],
      [6, 200, 12_000],
      [6, 1_000, 15_000],
      [20, 200, 12_000],
    ]),
  },
  small: { settings: settings([[2, 20, 600]]) },

  async run(context, { settings }) {
    const kinds = KIND_NAMES.filter((kind) => context.isChosen(`shares: ${kind}`))
    const most = Math.max(...settings.map(({ contenders }) => contenders))
    const results = []
    await withNetwork({ oneWayMs: ONE_WAY_MS, atMostMs: AT_MOST_MS }, context, (far) =>
      withWorkers(most, { atMostMs: AT_MOST_MS, what: 'shares', signal: context.signal }, async (workers) => {
        for (const setting of settings) {
          context.log(`shares: ${textOf(setting)}`)
          results.push(
            ...(await measure(workers.slice(0, setting.contenders), kinds, setting, { context, far })),
          )
        }
      }),
    )
    return { results }
  },

  problems: ({ results }) =>
    results
      .filter(({ turns }) => turns.every((each) => each === 0))
      .map(({ name, setting }) => `${name}, ${textOf(setting)}: nobody had a turn`),

  bars: ({ results }) =>
    results
      .filter(({ setting }) => setting.contenders === 6 && setting.holdMs === 200)
      .flatMap((result) => {
        const { name, setting, leastShare, longest } = result
        const [least] = LEAST_SHARES.find(([, kinds]) => kinds.includes(name)) ?? []
        if (least === undefined) return []
        const text = `shares, ${name}, ${textOf(setting)}`
        const fair = results.find((each) => each.name === FAIR && each.setting === setting)
        return [
          { text: `${text}: least share, of an even one`, value: leastShare, least },
          ...(fair && least === 0.6
            ? [
                {
                  text: `${text}: longest wait, of the fair lock's`,
                  value: longest / fair.longest,
                  most: 2.5,
                },
              ]
            : []),
        ]
      }),

  tables: ({ results }) =>
    [...new Set(results.map(({ setting }) => textOf(setting)))].map((title) => ({
      title,
      head: ['', 'turns of each', 'least share', 'wait, median ms', 'p99', 'longest'],
      rows: results
        .filter(({ setting }) => textOf(setting) === title)
        .map(({ name, turns, leastShare, p50, p99, longest }) => [
          name,
          turns.length > 6 ? `${Math.min(...turns)} to ${Math.max(...turns)}` : turns.join(' '),
          decimals(leastShare, 2),
          ...[p50, p99, longest].map(figure),
        ]),
    })),

  charts: ({ results }) => {
    const drawn = results.filter(({ setting }) => setting.contenders === 6 && setting.holdMs === 200)
    if (drawn.length === 0) return []
    const names = [...new Set(drawn.map(({ name }) => name))]
    const value = (name, isFar) =>
      drawn.find((each) => each.name === name && each.setting.isFar === isFar)?.leastShare ?? 0
    return [
      barChart({
        file: 'shares.svg',
        title: 'Six processes, holds of 200 ms: the least share, of an even one',
        groups: names.map((name) => ({
          name,
          values: { 'all near': value(name, false), 'half 1 ms further': value(name, true) },
        })),
      }),
    ]
  },
}

const textOf = ({ contenders, holdMs, isFar }) =>
  `${contenders} processes, holds of ${holdMs} ms, ${isFar ? 'half of them 1 ms further' : 'all near'}`

/** All kinds at once, each on a lock of its own; short holds one after the other, because they cost CPU time. */
const measure = async (workers, kinds, setting, ways) => {
  const { isFar, contenders } = setting
  const urlOf = (i) => (isFar && i >= contenders / 2 ? ways.far.url : ways.context.url)
  await Promise.all(workers.map((worker, i) => worker.call('openTurns', { url: urlOf(i), kinds })))
  const measured = []
  if (setting.holdMs >= 20) {
    measured.push(...(await Promise.all(kinds.map((kind) => turnsOf(workers, kind, setting, ways.context)))))
  } else {
    for (const kind of kinds) measured.push(await turnsOf(workers, kind, setting, ways.context))
  }
  await Promise.all(workers.map((worker) => worker.call('closeTurns')))
  await ways.context.info.removeKeysWith(ways.context.runId)
  return measured
}

const turnsOf = async (workers, kind, setting, context) => {
  const { contenders, holdMs, thinkMs, ms, isFar } = setting
  const name = context.name('shares', kind, `${contenders}-${holdMs}-${isFar}`)
  const told = await Promise.all(
    workers.map((worker) => worker.call('takeTurns', { kind, name, holdMs, thinkMs, ms })),
  )
  const turns = told.map((each) => each.turns)
  const waits = told.flatMap((each) => each.waits)
  const even = turns.reduce((sum, each) => sum + each, 0) / contenders
  const times = { p50: quantile(waits, 0.5), p99: quantile(waits, 0.99), longest: Math.max(...waits) }
  return { name: kind, setting, turns, leastShare: even > 0 ? Math.min(...turns) / even : 0, ...times }
}
