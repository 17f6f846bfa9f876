import { commitOf, coreAt, MissingHistoryError } from '@holdfast/faults'
import { bars as barChart } from '../report/charts.mjs'
import { decimals, figure } from '../report/table.mjs'
import { withNetwork } from '../network.mjs'
import { quantile } from '../statistics.mjs'
import { withWorkers } from '../workers.mjs'
import { EARLIER, KIND_NAMES, PLAIN, POLLER } from '../worker/turns.mjs'

const AT_MOST_MS = 600_000
const FAIR = 'fair lock'
const WITH_JAVA = 'npm run test:interop -- contention'
/** Contestants that grant, and those that do not. */
const LEAST_SHARES = [
  [0.6, ['Holdfast withLock', "interop: 'none'"]],
  [
    0.4,
    ['pushedGrants: false', 'fenced lock', 'write lock', '@holdfast/redlock', '@holdfast/redis-semaphore'],
  ],
]

const settings = (list) =>
  list.flatMap(([contenders, holdMs, ms]) =>
    [0, contenders / 2].map((far) => ({ contenders, holdMs, ms, thinkMs: holdMs / 4, far, oneWayMs: 1 })),
  )

/** The commit before rounds and standing back. */
const BEFORE_ROUNDS = '45283784'
/** One lock for clients of several kinds: what the last `few` of them get, of what all or the others do. */
const COMPANIES = [
  {
    name: 'a caller that polls every 5 ms beside two clients',
    kinds: [PLAIN, PLAIN, POLLER],
    ...{ holdMs: 200, thinkMs: 150, ms: 15_000 },
    figure: { text: 'turns of the one that polls, for each of the two', least: 0.1 },
    of: ([one, two, polls]) => polls / (one + two),
  },
  {
    name: `three of six clients are of ${BEFORE_ROUNDS}`,
    kinds: [EARLIER, EARLIER, EARLIER, PLAIN, PLAIN, PLAIN],
    ...{ holdMs: 200, thinkMs: 50, ms: 15_000 },
    figure: { text: 'least share of a new one, of an even one', least: 0.3 },
    of: (turns) => Math.min(...turns.slice(3)) / (sumOf(turns) / turns.length),
  },
]

/** Several processes take one lock in turns and hold it for long: how evenly, and how long each waits. */
export const shares = {
  id: 'shares',
  title: 'Shares of a lock that is held for long',
  full: {
    companies: COMPANIES,
    settings: [
      ...settings([
        [2, 200, 4_000],
        [6, 1, 1_500],
        [6, 40, 4_000],
        [6, 200, 12_000],
        [6, 1_000, 15_000],
        [20, 200, 12_000],
      ]),
      { contenders: 6, holdMs: 150, ms: 12_000, thinkMs: 50, far: 4, oneWayMs: 2 },
    ],
  },
  small: { settings: settings([[2, 20, 600]]), companies: [{ ...COMPANIES[0], holdMs: 20, ms: 600 }] },

  async run(context, { settings, companies }) {
    const kinds = KIND_NAMES.filter((kind) => context.isChosen(`shares: ${kind}`))
    const most = Math.max(...settings.map(({ contenders }) => contenders))
    const results = []
    const mixed = []
    const far = (oneWayMs, use) => withNetwork({ oneWayMs, atMostMs: AT_MOST_MS }, context, use)
    await far(1, (one) =>
      far(2, (two) =>
        withWorkers(
          most,
          { atMostMs: AT_MOST_MS, what: 'shares', signal: context.signal },
          async (workers) => {
            const ways = { context, 1: one, 2: two }
            for (const company of kinds.includes(PLAIN) ? companies : []) {
              context.log(`shares: ${company.name}`)
              mixed.push(await measureCompany(workers, company, context))
            }
            for (const setting of settings) {
              context.log(`shares: ${textOf(setting)}`)
              results.push(...(await measure(workers.slice(0, setting.contenders), kinds, setting, ways)))
            }
          },
        ),
      ),
    )
    return { results, mixed }
  },

  problems: ({ results }) =>
    results
      .filter(({ turns }) => turns.every((each) => each === 0))
      .map(({ name, setting }) => `${name}, ${textOf(setting)}: nobody had a turn`),

  bars: ({ results, mixed }) => [
    ...mixed.flatMap(({ name, figure: { text, least }, value }) =>
      value === undefined ? [] : [{ text: `shares, ${name}: ${text}`, value, least }],
    ),
    ...results
      .filter(({ setting }) => setting.contenders === 6 && setting.holdMs >= 150 && setting.holdMs <= 200)
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
  ],

  tables: ({ results, mixed }) => [
    ...(mixed.length === 0
      ? []
      : [
          {
            title: 'Clients of several kinds on one lock',
            head: ['', 'turns of each', 'what is looked at', '', 'longest wait, ms'],
            rows: [
              ...mixed.map(({ name, figure: { text }, turns, value, longest, reason }) =>
                value === undefined
                  ? [name, `not run: ${reason}`, text, '', '']
                  : [name, turns.join(' '), text, decimals(value, 2), figure(longest)],
              ),
              [
                'three processes of Redisson beside three',
                `not run: ${WITH_JAVA}`,
                "Java's share of all",
                '',
                '',
              ],
            ],
          },
        ]),
    sharesTable(results),
  ],

  charts: ({ results }) => {
    const drawn = results.filter(({ setting }) => setting.contenders === 6 && setting.holdMs === 200)
    if (drawn.length === 0) return []
    const names = [...new Set(drawn.map(({ name }) => name))]
    const value = (name, isFar) =>
      drawn.find((each) => each.name === name && each.setting.far > 0 === isFar)?.leastShare ?? 0
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

/** A row for each setting: of each kind the least share, and the longest wait. */
const sharesTable = (results) => {
  const unique = (values) => [...new Set(values)]
  const names = unique(results.map(({ name }) => name))
  const cell = (text, kind) => {
    const result = results.find(({ name, setting }) => name === kind && textOf(setting) === text)
    return result ? `${decimals(result.leastShare, 2)}, ${figure(result.longest)}` : ''
  }
  return {
    title: 'The least share, of an even one, and the longest wait in ms',
    head: ['', ...names],
    rows: unique(results.map(({ setting }) => textOf(setting))).map((text) => [
      text,
      ...names.map((name) => cell(text, name)),
    ]),
  }
}

const sumOf = (turns) => turns.reduce((sum, each) => sum + each, 0)

const textOf = ({ contenders, holdMs, far, oneWayMs }) => {
  const which = far === contenders / 2 ? 'half' : far
  return `${contenders} processes, holds of ${holdMs} ms, ${far > 0 ? `${which} of them ${oneWayMs} ms further away` : 'all near'}`
}

/** All kinds at once, each on a lock of its own; short holds one after the other, because they cost CPU time. */
const measure = async (workers, kinds, setting, ways) => {
  const { far, contenders, oneWayMs } = setting
  const urlOf = (i) => (i >= contenders - far ? ways[oneWayMs].url : ways.context.url)
  await Promise.all(workers.map((worker, i) => worker.call('openTurns', { url: urlOf(i), kinds })))
  const measured = []
  const turnsOfKind = (kind) => turnsOf(workers, { kinds: workers.map(() => kind), ...setting }, ways.context)
  const resultOf = async (kind) => ({ name: kind, setting, ...(await turnsOfKind(kind)) })
  if (setting.holdMs >= 20) measured.push(...(await Promise.all(kinds.map(resultOf))))
  else for (const kind of kinds) measured.push(await resultOf(kind))
  await closeAll(workers, ways.context)
  return measured
}

const measureCompany = async (all, company, context) => {
  const { name, kinds, of, figure } = company
  const workers = all.slice(0, kinds.length)
  try {
    const earlier = kinds.includes(EARLIER) ? await coreAt(await commitOf(BEFORE_ROUNDS)) : undefined
    const open = (worker, i) => worker.call('openTurns', { url: context.url, kinds: [kinds[i]], earlier })
    await Promise.all(workers.map(open))
    const measured = await turnsOf(workers, company, context)
    await closeAll(workers, context)
    return { name, figure, value: of(measured.turns), ...measured }
  } catch (error) {
    if (!(error instanceof MissingHistoryError)) throw error
    return { name, figure, reason: error.message }
  }
}

const closeAll = async (workers, context) => {
  await Promise.all(workers.map((worker) => worker.call('closeTurns')))
  await context.info.removeKeysWith(context.runId)
}

let locks = 0

const turnsOf = async (workers, { kinds, holdMs, thinkMs, ms }, context) => {
  const name = context.name('shares', kinds.at(-1), String((locks += 1)))
  const told = await Promise.all(
    workers.map((worker, i) => worker.call('takeTurns', { kind: kinds[i], name, holdMs, thinkMs, ms })),
  )
  const turns = told.map((each) => each.turns)
  const waits = told.flatMap((each) => each.waits)
  const even = sumOf(turns) / turns.length
  const times = { p50: quantile(waits, 0.5), p99: quantile(waits, 0.99), longest: Math.max(...waits) }
  return { turns, leastShare: even > 0 ? Math.min(...turns) / even : 0, ...times }
}
