import { measured } from '../comparison.mjs'
import { hopsPerSecond } from '../push-chain.mjs'
import { bars as barChart } from '../report/charts.mjs'
import { decimals, figure, spread, thousands } from '../report/table.mjs'
import { interleaved } from '../rounds.mjs'
import { jainIndex, quantile } from '../statistics.mjs'
import { usageOf } from '../usage.mjs'
import { CHAIN_NAMES } from '../worker/in-memory.mjs'
import { waitingVariants } from '../variants.mjs'
import { warmUp } from '../warm-up.mjs'
import { openIn, withWorkers } from '../workers.mjs'
import { contendedBars, nameOf, sameCase } from './contended-bars.mjs'

const BEST_MS = {
  'redlock 5': 25,
  'redlock 4': 10,
  'redis-semaphore Mutex': 25,
  'redlock-universal': 5,
}

const LIFE = { atMostMs: 300_000, what: 'contended' }

/** Everybody wants one lock: 2 and 32 flows of one process, 8 flows of each of 4 and of 8 processes; held for no time, for a turn of the event loop, or for 1 ms. */
export const contended = {
  id: 'contended',
  title: 'Contended: one lock for all',
  full: {
    rounds: 2,
    ms: 400,
    timersMs: 2_000,
    timersBeside: CHAIN_NAMES,
    cases: [
      { processes: 1, flows: 2, holdMs: 0 },
      { processes: 1, flows: 2, holdMs: 0, leavesTurn: true },
      { processes: 1, flows: 32, holdMs: 0 },
      { processes: 1, flows: 32, holdMs: 1 },
      { processes: 8, flows: 8, holdMs: 0 },
      { processes: 4, flows: 8, holdMs: 0 },
      { processes: 4, flows: 8, holdMs: 1 },
    ],
  },
  small: {
    rounds: 1,
    ms: 200,
    warmUpMs: 50,
    timersMs: 20,
    timersBeside: CHAIN_NAMES.slice(0, 1),
    cases: [{ processes: 2, flows: 2, holdMs: 0 }],
  },

  async run(context, params) {
    const { cases } = params
    const life = { ...LIFE, signal: context.signal }
    const most = Math.max(...cases.map((each) => each.processes))
    const several = await withWorkers(most, life, async (workers) => {
      const variants = await chosenIn(workers, context)
      await warmUp(workers, variants, { ms: params.warmUpMs }, context)
      const here = cases.filter(({ processes }) => processes > 1)
      const results = []
      for (const each of here) results.push(...(await caseOf(() => workers, variants, each, params, context)))
      const chains = []
      for (const processes of new Set(here.map((each) => each.processes)))
        chains.push({ processes, perSecond: await chainOf(workers.slice(0, processes), params, context) })
      return { results, chains }
    })
    return {
      cases,
      chains: several.chains,
      results: [...(await alone(params, life, context)), ...several.results],
      timers: await timersBeside(params, life, context),
    }
  },

  problems: ({ results, chains }) => [
    ...chains
      .filter(({ perSecond }) => perSecond === 0)
      .map(({ processes }) => `a chain of pushes through ${processes} processes broke`),
    ...results
      .filter(({ kind }) => kind === 'holdfast')
      .flatMap(({ name, processes, flows, failure, together, pairs, gaveUp, stuck }) => {
        const who = `${name}, ${processes} × ${flows}`
        if (failure) return [`${who}: ${failure}`]
        return [
          ...(together.max > 0 ? [`${who}: two flows of one process had the lock at the same time`] : []),
          ...(pairs.min === 0 ? [`${who}: nobody had the lock`] : []),
          ...(gaveUp.max + stuck.max > 0 ? [`${who}: ${gaveUp.max} gave up, ${stuck.max} were stuck`] : []),
        ]
      }),
  ],

  bars: contendedBars,

  tables: ({ results, cases, timers = [] }) => [
    ...cases.map((each) => ({
      title: nameOf(each),
      head: [
        ...['contestant', 'pairs/s', 'min to max', 'passes/s', 'client µs', 'Redis µs', 'commands', 'Jain'],
        ...['longest wait, ms', 'gave up', 'stuck'],
      ],
      rows: results.filter((result) => sameCase(result, each)).map(rowOf),
    })),
    {
      title:
        'A timer of 1 ms beside calls that are answered from memory, one after the other: how late it is, p99.9',
      head: ['beside', 'ms', 'in an idle process'],
      rows: timers.map(({ chain, lateMs, idleMs }) => [chain, decimals(lateMs, 1), decimals(idleMs, 1)]),
    },
  ],

  charts: ({ results, cases }) => [
    barChart({
      file: 'contended.svg',
      title: 'One lock for all: pairs per second',
      groups: [...new Set(measured(results).map(({ name }) => name))].map((name) => ({
        name,
        values: Object.fromEntries(
          cases
            .filter(({ holdMs }) => holdMs === cases.at(-1).holdMs)
            .flatMap((each) =>
              measured(results)
                .filter((result) => result.name === name && sameCase(result, each))
                .map(({ pairsPerSecond }) => [nameOf(each), pairsPerSecond.median]),
            ),
        ),
      })),
    }),
  ],
}

/** Each contestant in a process of its own: what others have made of it would slow it down. */
const alone = async (params, life, context) => {
  const cases = params.cases.filter(({ processes }) => processes === 1)
  const wanted = cases.length === 0 ? [] : waitingVariants(BEST_MS)
  return withWorkers(wanted.length, life, async (workers) => {
    const own = new Map()
    for (const [i, variant] of wanted.entries()) {
      const isChosen = context.isChosen(`contended: ${variant.name}`)
      if (isChosen && (await openIn([workers[i]], variant, context))) own.set(variant.name, workers[i])
    }
    const variants = wanted.filter(({ name }) => own.has(name))
    const results = []
    for (const each of cases)
      results.push(...(await caseOf((name) => [own.get(name)], variants, each, params, context)))
    return results
  })
}

const timersBeside = async ({ timersBeside: chains, timersMs: ms }, life, context) => {
  const timers = []
  for (const chain of chains) {
    const what = `contended: Holdfast, a timer beside ${chain}`
    if (!context.isChosen(what)) continue
    context.log(what)
    const how = { chain, url: context.url, name: context.name('in-memory', chain), ms }
    const { late, idle } = await withWorkers(1, life, ([worker]) => worker.call('timersBesideChain', how))
    timers.push({ chain, lateMs: quantile(late, 0.999), idleMs: quantile(idle, 0.999) })
  }
  return timers
}

const chainOf = (workers, { ms }, context) => {
  context.log(`contended, a chain of pushes through ${workers.length} processes`)
  return hopsPerSecond(workers, { ms: 2 * ms }, context)
}

const chosenIn = async (workers, context) => {
  const chosen = []
  for (const each of waitingVariants(BEST_MS)) {
    if (context.isChosen(`contended: ${each.name}`) && (await openIn(workers, each, context)))
      chosen.push(each)
  }
  return chosen
}

const caseOf = async (workersOf, variants, where, params, context) => {
  const { processes, ...how } = where
  const { rounds, ms } = params
  const what = nameOf(where)
  let turns = 0
  const figures = await interleaved(
    variants,
    async ({ name: variant, contestant }) => {
      const name = context.name('contended', variant, String((turns += 1)))
      const before = await usageOf(contestant, context)
      const calls = workersOf(variant)
        .slice(0, processes)
        .map((worker) => worker.call('contend', { variant, name, ms, ...how }))
      const answers = await Promise.all(calls)
      const after = await usageOf(contestant, context)
      return sumOf(answers, before, after)
    },
    { rounds, what },
    context,
  )
  return variants.map(({ name, kind }, i) => ({ name, kind, ...where, ...figures[i] }))
}

const sumOf = (answers, before, after) => {
  const sum = (of) => answers.reduce((total, each) => total + each[of], 0)
  const pairs = sum('pairs')
  const each = Math.max(1, pairs)
  return {
    pairs,
    pairsPerSecond: perSecond(pairs, answers),
    // Turns of other processes in between are not seen.
    ...(answers.length === 1 ? { passesPerSecond: perSecond(sum('passes'), answers) } : {}),
    clientMicros: sum('cpuMicros') / each,
    redisMicros: (after.cpuMicros - before.cpuMicros) / each,
    commands: (after.commands - before.commands) / each,
    jain: jainIndex(answers.flatMap(({ pairsOf }) => pairsOf)),
    longestWaitMs: Math.max(...answers.map(({ longestWaitMs }) => longestWaitMs)),
    gaveUp: sum('gaveUp'),
    stuck: sum('stuck'),
    together: sum('together'),
  }
}

const perSecond = (count, answers) => (count * 1_000) / Math.max(...answers.map(({ elapsedMs }) => elapsedMs))

const rowOf = (each) =>
  each.failure !== undefined
    ? [each.name, `failed: ${each.failure}`, '', '', '', '', '', '', '', '', '']
    : [
        each.name,
        thousands(each.pairsPerSecond.median),
        spread(each.pairsPerSecond),
        thousands(each.passesPerSecond?.median),
        decimals(each.clientMicros.median, 0),
        decimals(each.redisMicros.median, 0),
        figure(each.commands.median),
        decimals(each.jain.median, 2),
        decimals(each.longestWaitMs.max, 0),
        thousands(each.gaveUp.max),
        thousands(each.stuck.max),
      ]
