import { best, measured } from '../comparison.mjs'
import { bars as barChart } from '../report/charts.mjs'
import { decimals, figure, spread, thousands } from '../report/table.mjs'
import { interleaved } from '../rounds.mjs'
import { usageOf } from '../usage.mjs'
import { waitingVariants } from '../variants.mjs'
import { openIn, withWorkers } from '../workers.mjs'

const BEST_MS = {
  'redlock 5': 25,
  'redlock 4': 10,
  'redis-semaphore Mutex': 25,
  'redlock-universal': 5,
}

const LIFE = { atMostMs: 300_000, what: 'contended' }

/** Everybody wants one lock: 32 flows of one process, 8 flows of each of 4 and of 8 processes; held for 0 or 1 ms. */
export const contended = {
  id: 'contended',
  title: 'Contended: one lock for all',
  full: {
    rounds: 2,
    ms: 500,
    cases: [
      { processes: 1, flows: 32, holdMs: 0 },
      { processes: 1, flows: 32, holdMs: 1 },
      { processes: 4, flows: 8, holdMs: 0 },
      { processes: 4, flows: 8, holdMs: 1 },
      { processes: 8, flows: 8, holdMs: 0 },
      { processes: 8, flows: 8, holdMs: 1 },
    ],
  },
  small: {
    rounds: 1,
    ms: 200,
    cases: [{ processes: 2, flows: 2, holdMs: 0 }],
  },

  async run(context, params) {
    const processes = Math.max(...params.cases.map((each) => each.processes))
    return withWorkers(processes, { ...LIFE, signal: context.signal }, async (workers) => {
      const variants = await chosenIn(workers, context)
      const results = []
      for (const each of params.cases)
        results.push(...(await caseOf(workers, variants, each, params, context)))
      return { cases: params.cases, results }
    })
  },

  problems: ({ results }) =>
    results
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

  bars: ({ results, cases }) =>
    cases.flatMap(({ processes, flows, holdMs }) => {
      const here = measured(results).filter((each) => sameCase(each, { processes, flows, holdMs }))
      const ours = here.find(({ name }) => name === 'Holdfast withLock')
      const peer = best(
        here.filter(({ kind }) => kind === 'peer'),
        ({ pairsPerSecond }) => -pairsPerSecond.median,
      )
      if (!ours || !peer) return []
      return [
        {
          text: `${nameOf({ processes, flows, holdMs })}: pairs/s of ${peer.name}, the best peer`,
          value: ours.pairsPerSecond.median / peer.pairsPerSecond.median,
        },
      ]
    }),

  tables: ({ results, cases }) =>
    cases.map((each) => ({
      title: nameOf(each),
      head: ['contestant', 'pairs/s', 'min to max', 'client µs', 'Redis µs', 'commands', 'gave up', 'stuck'],
      rows: results.filter((result) => sameCase(result, each)).map(rowOf),
    })),

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

const nameOf = ({ processes, flows, holdMs }) =>
  `${processes === 1 ? 'one process' : `${processes} processes`}, ${flows} flows${processes === 1 ? '' : ' each'}, held for ${holdMs} ms`

const sameCase = (one, other) =>
  one.processes === other.processes && one.flows === other.flows && one.holdMs === other.holdMs

const chosenIn = async (workers, context) => {
  const chosen = []
  for (const each of waitingVariants(BEST_MS)) {
    if (context.isChosen(`contended: ${each.name}`) && (await openIn(workers, each, context)))
      chosen.push(each)
  }
  return chosen
}

const caseOf = async (workers, variants, { processes, flows, holdMs }, params, context) => {
  const { rounds, ms } = params
  const what = nameOf({ processes, flows, holdMs })
  let turns = 0
  const figures = await interleaved(
    variants,
    async ({ name: variant, contestant }) => {
      const name = context.name('contended', variant, String((turns += 1)))
      const before = await usageOf(contestant, context)
      const calls = workers
        .slice(0, processes)
        .map((worker) => worker.call('contend', { variant, name, flows, ms, holdMs }))
      const answers = await Promise.all(calls)
      const after = await usageOf(contestant, context)
      return sumOf(answers, before, after)
    },
    { rounds, what, warmUp: false },
    context,
  )
  return variants.map(({ name, kind }, i) => ({ name, kind, processes, flows, holdMs, ...figures[i] }))
}

const sumOf = (answers, before, after) => {
  const sum = (of) => answers.reduce((total, each) => total + each[of], 0)
  const pairs = sum('pairs')
  const each = Math.max(1, pairs)
  return {
    pairs,
    pairsPerSecond: (pairs * 1_000) / Math.max(...answers.map(({ elapsedMs }) => elapsedMs)),
    clientMicros: sum('cpuMicros') / each,
    redisMicros: (after.cpuMicros - before.cpuMicros) / each,
    commands: (after.commands - before.commands) / each,
    gaveUp: sum('gaveUp'),
    stuck: sum('stuck'),
    together: sum('together'),
  }
}

const rowOf = (each) =>
  each.failure !== undefined
    ? [each.name, `failed: ${each.failure}`, '', '', '', '', '', '']
    : [
        each.name,
        thousands(each.pairsPerSecond.median),
        spread(each.pairsPerSecond),
        decimals(each.clientMicros.median, 0),
        decimals(each.redisMicros.median, 0),
        figure(each.commands.median),
        thousands(each.gaveUp.max),
        thousands(each.stuck.max),
      ]
