import { bars as barChart } from '../report/charts.mjs'
import { decimals, figure } from '../report/table.mjs'
import { connect, optionsFor } from '../connection.mjs'
import { withNetwork } from '../network.mjs'
import { quantile } from '../statistics.mjs'
import { withWorkers } from '../workers.mjs'
import { ARRIVAL_KINDS } from '../worker/arrivals.mjs'

const AT_MOST_MS = 120_000
const ENDS = ['served', 'LOCK_BUSY', 'LOCK_TIMEOUT']

/** Twice as many requests for one lock as it can serve, with a bound for its line and without one. */
export const overload = {
  id: 'overload',
  title: 'More requests than a lock can serve',
  full: { processes: 4, crowd: 20, holdMs: 25, ms: 10_000, waitMs: 1_000, maxWaiting: 10, oneWayMs: 1 },
  small: { processes: 2, crowd: 3, holdMs: 5, ms: 400, waitMs: 200, maxWaiting: 3, oneWayMs: 1 },

  async run(context, setting) {
    const { processes, crowd, oneWayMs, waitMs, maxWaiting } = setting
    const limits = [{ waitMs, maxWaiting }, { waitMs }]
    return withNetwork({ oneWayMs, atMostMs: AT_MOST_MS }, context, (through, network) =>
      withWorkers(
        crowd,
        { atMostMs: AT_MOST_MS, what: 'overload', signal: context.signal },
        async (workers) => {
          await Promise.all(workers.map((worker) => worker.call('openArrivals', { url: through.url })))
          const roundTripMs = await network.roundTripMs(50)
          const results = []
          for (const kind of ARRIVAL_KINDS) {
            for (const each of limits) {
              context.log(`overload: ${kind}, ${textOf(each)}`)
              results.push({
                kind,
                limits: each,
                ...(await measure(workers.slice(0, processes), kind, each, setting, context)),
              })
            }
          }
          context.log(`overload: ${FAIR}, ${crowd} processes`)
          const { mostInLine } = await measure(workers, FAIR, limits[0], setting, context)
          await Promise.all(workers.map((worker) => worker.call('closeArrivals')))
          await context.info.removeKeysWith(context.runId)
          return { setting, roundTripMs, mostInLine, results }
        },
      ),
    )
  },

  problems: ({ results }) =>
    results
      .filter(
        ({ limits, served, LOCK_BUSY }) =>
          served.length === 0 || LOCK_BUSY.length > 0 !== 'maxWaiting' in limits,
      )
      .map(
        ({ kind, limits }) =>
          `overload, ${kind}, ${textOf(limits)}: nobody was served, or the bound did not hold`,
      ),

  bars: ({ setting, roundTripMs, mostInLine, results }) => [
    {
      text: `overload, ${FAIR}, ${setting.crowd} processes: most in the queue, by Redis`,
      value: mostInLine,
      most: setting.maxWaiting,
    },
    ...results
      .filter(({ limits }) => 'maxWaiting' in limits)
      .flatMap(({ kind, served, LOCK_BUSY }) => [
        {
          text: `overload, ${kind}: longest wait of a call that was served, of its waitMs`,
          value: Math.max(...served) / setting.waitMs,
          most: 1,
        },
        {
          text: `overload, ${kind}: a refusal, in round trips, the median`,
          value: quantile(LOCK_BUSY, 0.5) / roundTripMs,
          most: 2,
        },
      ]),
  ],

  tables: ({ setting, roundTripMs, results }) => [
    {
      title:
        `${setting.processes} processes, turns of ${setting.holdMs} ms, twice as many requests as that allows for ` +
        `${setting.ms / 1_000} s; a round trip takes ${decimals(roundTripMs, 1)} ms`,
      head: ['', ...ENDS, 'wait of the served, median ms', 'p99', 'longest', 'a refusal, median ms', 'p99'],
      rows: results.map(({ kind, limits, ...ends }) => [
        `${kind}, ${textOf(limits)}`,
        ...ENDS.map((end) => String(ends[end].length)),
        ...[0.5, 0.99, 1].map((part) => figure(quantile(ends.served, part))),
        ...[0.5, 0.99].map((part) =>
          ends.LOCK_BUSY.length > 0 ? decimals(quantile(ends.LOCK_BUSY, part), 1) : '–',
        ),
      ]),
    },
  ],

  charts: ({ results, setting }) => [
    barChart({
      file: 'overload.svg',
      title: `Twice as many requests as a lock can serve, waitMs ${setting.waitMs}: the median wait of those served, ms`,
      groups: ARRIVAL_KINDS.map((kind) => ({
        name: kind,
        values: Object.fromEntries(
          results
            .filter((each) => each.kind === kind)
            .map(({ limits, served }) => [
              'maxWaiting' in limits ? 'maxWaiting' : 'no bound',
              quantile(served, 0.5),
            ]),
        ),
      })),
    }),
  ],
}

const FAIR = 'fair lock'

const textOf = ({ maxWaiting }) => (maxWaiting === undefined ? 'no bound' : `maxWaiting ${maxWaiting}`)

const measure = async (workers, kind, limits, { holdMs, ms }, context) => {
  const name = context.name('overload', kind, textOf(limits))
  const everyMs = (holdMs * workers.length) / 2
  const line = await watchLine(context, name)
  const told = await Promise.all(
    workers.map((worker, i) => {
      const afterMs = (i * everyMs) / workers.length
      return worker.call('takeArrivals', { kind, name, everyMs, afterMs, ms, holdMs, limits })
    }),
  )
  const mostInLine = await line.end()
  return { mostInLine, ...Object.fromEntries(ENDS.map((end) => [end, told.flatMap((each) => each[end])])) }
}

/** Asks Redis again and again how long the line of a fair lock is. */
const watchLine = async (context, name) => {
  const redis = await connect(optionsFor(context.url, false))
  let most = 0
  let isOver = false
  const asking = (async () => {
    while (!isOver) most = Math.max(most, await redis.llen(`redisson_lock_queue:{${name}}`))
  })()
  return {
    end: async () => {
      isOver = true
      await asking
      redis.disconnect()
      return most
    },
  }
}
