import { setTimeout as sleep } from 'node:timers/promises'
import { figure } from '../report/table.mjs'
import { quantile } from '../statistics.mjs'
import { withWorkers } from '../workers.mjs'

const LIFE = { atMostMs: 170_000, what: 'share' }
const HOLDFAST = 'Holdfast share'
const BY_HAND = 'SET NX, and a poll every 100 ms'
const FLOOR = 'a bare push'
/** Commands that each way sends itself; those that scripts call counts under the same names, so these are none that they call. */
const SENT = { share: ['evalsha', 'subscribe', 'unsubscribe'], 'by hand': ['set', 'get'] }
const SETTLE_MS = 60

/** One of many callers works, and all want its result: how long until they have it, and what it takes. */
export const share = {
  id: 'share',
  title: 'One result for all',
  full: { rounds: 15, warmUps: 6, processes: 10, callers: 100, workMs: 120 },
  small: { rounds: 1, warmUps: 0, processes: 3, callers: 5, workMs: 20 },

  async run(context, { rounds, warmUps, processes, callers, workMs }) {
    const name = context.name('share')
    const ways = ['share', 'by hand'].filter((way) => context.isChosen(`share: ${way}`))
    const taken = new Map(ways.map((way) => [way, { ms: [], runs: 0, commands: 0 }]))
    const pushes = []
    await withWorkers(processes, { ...LIFE, signal: context.signal }, async (workers) => {
      await Promise.all(workers.map((worker) => worker.call('openShare', { url: context.url, name })))
      // The first rounds find everything cold, and do not count.
      for (let round = -warmUps; round < rounds; round += 1) {
        context.log(`share: ${round + 1} of ${rounds}`)
        for (const way of ways) {
          const found = await once(workers, { way, key: `${way} ${round}`, callers, workMs }, context)
          if (round >= 0) add(taken.get(way), found)
        }
        const pushed = await pushOnce(workers)
        if (round >= 0) pushes.push(...pushed)
      }
      await Promise.all(workers.map((worker) => worker.call('closeShare')))
    })
    // Results stay for seconds, by design.
    await context.info.removeKeysWith(name)
    const results = ways.map((way) => resultOf(way, taken.get(way), rounds))
    return { rounds, processes, callers, results: [...results, { name: FLOOR, ...timesOf(pushes) }] }
  },

  problems: ({ results, rounds, processes, callers }) =>
    results.flatMap(({ name, runs, had, commands }) => [
      ...(runs !== undefined && runs !== rounds ? [`${name}: ${runs} runs in ${rounds} rounds`] : []),
      ...(runs !== undefined && had !== rounds * processes * callers
        ? [`${name}: ${had} of ${rounds * processes * callers} calls had the result`]
        : []),
      ...(name === HOLDFAST && commands > 5 * processes + 3
        ? [`${name}: ${commands} commands a round, of ${processes} processes`]
        : []),
    ]),

  bars({ results }) {
    const [ours, floor] = [HOLDFAST, FLOOR].map((name) => results.find((each) => each.name === name))
    return ours
      ? [
          {
            text: 'share, p99 ms from the end of the run until a caller has the result',
            value: ours.p99,
            most: 15,
          },
          { text: 'share, p99, of a bare push in the same run', value: ours.p99 / floor.p99, most: 5 },
        ]
      : []
  },

  tables: ({ results, processes, callers }) => [
    {
      title: `From the end of the run until a caller has its result, ${callers} callers in each of ${processes} processes`,
      head: ['', 'p50 ms', 'p99 ms', 'longest ms', 'commands a round'],
      rows: results.map(({ name, p50, p99, longest, commands }) => [
        name,
        ...[p50, p99, longest].map(figure),
        commands === undefined ? '–' : figure(commands),
      ]),
    },
  ],

  charts: () => [],
}

const once = async (workers, { way, ...how }, context) => {
  const before = await callsOf(way, context)
  const told = await Promise.all(workers.map((worker) => worker.call('callShare', { way, ...how })))
  // The ends of subscriptions.
  await sleep(SETTLE_MS)
  const commands = (await callsOf(way, context)) - before
  const ends = told.flatMap(({ ended }) => ended ?? [])
  const ms = told.flatMap(({ had }) => had.map((at) => (at - Math.min(...ends)) / 1e6))
  return { ms, runs: ends.length, commands }
}

const callsOf = async (way, context) => {
  const calls = await context.info.calls()
  return SENT[way].reduce((sum, command) => sum + (calls.get(command) ?? 0), 0)
}

const pushOnce = async ([first, ...others]) => {
  const heard = others.map((worker) => worker.call('heardPush'))
  await sleep(SETTLE_MS)
  const from = await first.call('barePush')
  return (await Promise.all(heard)).map((at) => (at - from) / 1e6)
}

const add = (sum, { ms, runs, commands }) => {
  sum.ms.push(...ms)
  sum.runs += runs
  sum.commands += commands
}

const timesOf = (ms) => ({ p50: quantile(ms, 0.5), p99: quantile(ms, 0.99), longest: Math.max(...ms) })

const resultOf = (way, { ms, runs, commands }, rounds) => ({
  name: way === 'share' ? HOLDFAST : BY_HAND,
  ...{ runs, had: ms.length, commands: commands / rounds },
  ...timesOf(ms),
})
