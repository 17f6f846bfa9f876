import { setTimeout as sleep } from 'node:timers/promises'
import { decimals, figure, thousands } from '../report/table.mjs'
import { slowestDuring } from '../slow-log.mjs'
import { withWorkers } from '../workers.mjs'

/** Who renews by itself, and after which part of the lease. */
const HOLDERS = [
  { name: 'Holdfast', kind: 'holdfast', interval: 1 / 3 },
  { name: 'redis-semaphore Mutex', kind: 'peer', interval: 0.8 },
  { name: 'node-redisson', kind: 'peer', interval: 1 / 3 },
]

/** So many locks of one client, taken as fast as can be and kept: what one renewal of all costs. */
export const renewals = {
  id: 'renewals',
  title: 'Renewals',
  full: { held: 10_000, leaseMs: 15_000, batch: 25 },
  small: { held: 1_000, leaseMs: 1_500, batch: 25, onlyOurs: true },

  async run(context, params) {
    const results = []
    for (const holder of HOLDERS) {
      if (!context.isChosen(`renewals: ${holder.name}`) || (params.onlyOurs && holder.kind === 'peer'))
        continue
      context.log(`renewals: ${params.held} locks, ${holder.name}`)
      const use = ([worker]) => oneOf(worker, holder, params, context)
      try {
        results.push(await withWorkers(1, lifeOf(holder, context), use))
      } catch (error) {
        if (holder.kind !== 'peer') throw error
        results.push({ name: holder.name, kind: holder.kind, failure: error.message })
      }
    }
    return { ...params, results }
  },

  problems: ({ results, held, batch, onlyOurs }) =>
    results
      .filter(({ kind }) => kind === 'holdfast')
      .flatMap(({ lost, gone, scripts }) => [
        ...(lost + gone === 0 ? [] : [`renewals: ${lost} locks of ${held} were lost, ${gone} are gone`]),
        // Each is renewed in a cycle, in full scripts. Rows of them may come just before it begins, or within it twice.
        ...(onlyOurs && (scripts < held / batch / 2 || scripts > (3 * held) / batch)
          ? [`renewals: ${scripts} scripts for ${held} locks in one cycle`]
          : []),
      ]),

  bars: ({ results, held }) =>
    results
      .filter(({ kind }) => kind === 'holdfast')
      .flatMap(({ name, redisMs, longestMs, lost, gone }) => {
        const who = `${thousands(held)} renewals, ${name}`
        return [
          { text: `${who}: ms of Redis in one cycle`, value: redisMs, most: 25 },
          ...(longestMs === undefined
            ? []
            : [{ text: `${who}: longest stall of Redis, ms`, value: longestMs, most: 0.5 }]),
          { text: `${who}: leases missed`, value: lost + gone, most: 0 },
        ]
      }),

  tables: ({ results, held, leaseMs }) => [
    {
      title: `${thousands(held)} locks of one client with a lease of ${leaseMs / 1_000} s: one renewal of all`,
      head: [
        'contestant',
        'every',
        'scripts',
        'ms of Redis',
        'longest, ms',
        'client CPU, ms',
        'client stall, ms',
        'missed',
      ],
      rows: results.map((each) =>
        each.failure
          ? [each.name, `failed: ${each.failure}`, '', '', '', '', '', '']
          : [
              each.name,
              `${decimals(each.cycleMs / 1_000, 1)} s`,
              thousands(each.scripts),
              decimals(each.redisMs, 1),
              figure(each.longestMs),
              decimals(each.clientMs, 0),
              decimals(each.stallMs, 1),
              thousands(each.lost + each.gone),
            ],
      ),
    },
  ],

  charts: () => [],
}

const lifeOf = ({ name }, { signal }) => ({ signal, atMostMs: 90_000, what: `renewals of ${name}` })

const oneOf = async (worker, { name: who, kind, interval }, { held, leaseMs }, context) => {
  const names = Array.from({ length: held }, (_, i) => context.name('renewals', who, String(i)))
  const cycleMs = leaseMs * interval
  await worker.call('takeMany', { who, url: context.url, leaseMs, names })
  // The first cycles are those of a burst, and bring the script to the server; then it is as it stays.
  await sleep(kind === 'holdfast' ? 2 * cycleMs : cycleMs / 2)
  const figures = await slowestDuring(context.url, async () => {
    const before = await context.info.timesOf('evalsha')
    const cpu = await worker.call('startCycle')
    await sleep(cycleMs)
    const client = await worker.call('endCycle', cpu)
    const after = await context.info.timesOf('evalsha')
    return { client, scripts: after.calls - before.calls, redisMs: (after.micros - before.micros) / 1_000 }
  })
  const keys = await context.info.keysWith(context.name('renewals', who))
  const gone = Math.max(0, held - keys.length)
  await worker.call('letAllGo')
  const { client, ...rest } = figures.result
  return {
    name: who,
    kind,
    cycleMs,
    ...rest,
    longestMs: figures.longestMs,
    clientMs: client.cpuMicros / 1_000,
    stallMs: client.stallMs,
    lost: client.lost,
    gone,
  }
}
