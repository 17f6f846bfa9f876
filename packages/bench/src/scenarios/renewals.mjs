import { setTimeout as sleep } from 'node:timers/promises'
import { renewalFloor } from '../renewal-floor.mjs'
import { decimals, figure, thousands } from '../report/table.mjs'
import { slowestDuring } from '../slow-log.mjs'
import { withWorkers } from '../workers.mjs'

/** Who renews by itself, and after which part of the lease. */
const HOLDERS = [
  { name: 'Holdfast', kind: 'holdfast', interval: 1 / 3 },
  { name: 'redis-semaphore Mutex', kind: 'peer', interval: 0.8 },
  { name: 'node-redisson', kind: 'peer', interval: 1 / 3 },
]

/** The least that a renewal does. */
const FLOOR = 'HEXISTS and PEXPIREAT alone'

/** So many locks of one client, taken as fast as can be and kept: what one renewal of all costs. */
export const renewals = {
  id: 'renewals',
  title: 'Renewals',
  full: { held: 10_000, leaseMs: 15_000, batch: 25, row: 32 },
  small: { held: 1_000, leaseMs: 1_500, batch: 25, row: 32, onlyOurs: true },

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
      .flatMap(({ name, redisMs, floorMs, longestMs, lost, gone }) => {
        const who = `${thousands(held)} renewals, ${name}`
        return [
          { text: `${who}: ms of Redis in one cycle`, value: redisMs, most: 25 },
          { text: `${who}: the same, of ${FLOOR}`, value: redisMs / floorMs },
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
      rows: results.flatMap(rowsOf),
    },
  ],

  charts: () => [],
}

const rowsOf = (each) => {
  if (each.failure) return [[each.name, `failed: ${each.failure}`, '', '', '', '', '', '']]
  const { name, cycleMs, scripts, redisMs, floorMs, longestMs, clientMs, stallMs, lost, gone } = each
  return [
    [
      name,
      `${decimals(cycleMs / 1_000, 1)} s`,
      thousands(scripts),
      decimals(redisMs, 1),
      figure(longestMs),
      decimals(clientMs, 0),
      decimals(stallMs, 1),
      thousands(lost + gone),
    ],
    ...(floorMs === undefined ? [] : [[FLOOR, '', '', decimals(floorMs, 1), '', '', '', '']]),
  ]
}

const lifeOf = ({ name }, { signal }) => ({ signal, atMostMs: 90_000, what: `renewals of ${name}` })

const oneOf = async (worker, { name: who, kind, interval }, params, context) => {
  const { held, leaseMs } = params
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
  const floorMs = kind === 'holdfast' ? await renewalFloor(names, { ...params, cycleMs }, context) : undefined
  const keys = await context.info.keysWith(context.name('renewals', who))
  const gone = Math.max(0, held - keys.length)
  await worker.call('letAllGo')
  const { client, ...rest } = figures.result
  return {
    name: who,
    kind,
    cycleMs,
    ...rest,
    floorMs,
    longestMs: figures.longestMs,
    clientMs: client.cpuMicros / 1_000,
    stallMs: client.stallMs,
    lost: client.lost,
    gone,
  }
}
