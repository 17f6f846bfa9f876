import { setTimeout as sleep } from 'node:timers/promises'
import { measured } from '../comparison.mjs'
import { bars as barChart } from '../report/charts.mjs'
import { figure } from '../report/table.mjs'
import { pushTimes } from '../push-chain.mjs'
import { quantile } from '../statistics.mjs'
import { waitingVariants } from '../variants.mjs'
import { warmUp } from '../warm-up.mjs'
import { openIn, withWorkers } from '../workers.mjs'

const BEST_MS = { 'redlock 5': 1, 'redlock 4': 1, 'redis-semaphore Mutex': 1, 'redlock-universal': 1 }
/** At least as long as a waiter needs to stand still, and as long again, so that no poll is in step with it. */
const BEFORE_MS = 60

/** What is no lock: a script publishes, the other process hears it. */
const FLOOR = 'a push without a lock'

const LIFE = { atMostMs: 180_000, what: 'wake-up' }

/** One process holds, another waits: how long from the beginning of the unlock until the other has the lock. */
export const wakeUp = {
  id: 'wake-up',
  title: 'Wake-up between two processes',
  full: { times: 15, spreadMs: 100 },
  small: { times: 1, spreadMs: 1, warmUpMs: 50 },

  async run(context, { times, spreadMs, warmUpMs }) {
    return withWorkers(2, { ...LIFE, signal: context.signal }, async (workers) => {
      const variants = []
      for (const each of waitingVariants(BEST_MS)) {
        if (!context.isChosen(`wake-up: ${each.name}`)) continue
        if (await openIn(workers, each, context)) variants.push(each)
      }
      await warmUp(workers, variants, { ms: warmUpMs }, context)
      const taken = new Map(variants.map((each) => [each, { ms: [], gaveUp: 0 }]))
      const pushes = []
      for (let i = 0; i < times; i += 1) {
        context.log(`wake-up: ${i + 1} of ${times}`)
        for (const variant of variants) {
          const ms = await once(workers, variant, context.name('wake', variant.name, String(i)), spreadMs)
          if (ms === null) taken.get(variant).gaveUp += 1
          else taken.get(variant).ms.push(ms)
        }
        pushes.push(...(await pushTimes(workers, { times: 1, pauseMs: () => pauseMs(spreadMs) }, context)))
      }
      const floor = resultOf({ name: FLOOR, kind: 'floor' }, { ms: pushes, gaveUp: 0 })
      return { times, results: [floor, ...variants.map((each) => resultOf(each, taken.get(each)))] }
    })
  },

  problems: ({ results, times }) =>
    results.flatMap(({ name, woken, gaveUp }) =>
      woken + gaveUp === times ? [] : [`${name}: ${woken} of ${times} wake-ups`],
    ),

  bars({ results }) {
    const ours = results.find(({ name }) => name === 'Holdfast withLock')
    const peers = measured(results).filter(({ kind, p50 }) => kind === 'peer' && p50 !== undefined)
    const peer = peers.toSorted((a, b) => a.p50 - b.p50)[0]
    const floor = results.find(({ kind }) => kind === 'floor')
    return [
      ...(ours && floor
        ? [{ text: 'wake-up, p50, of a push without a lock', value: ours.p50 / floor.p50, most: 1.3 }]
        : []),
      ...(ours && peer
        ? [{ text: `wake-up, p50, of ${peer.name}, the fastest peer`, value: ours.p50 / peer.p50 }]
        : []),
    ]
  },

  tables: ({ results }) => [
    {
      title: 'From the unlock until the other process has the lock',
      head: ['contestant', 'p50 ms', 'p95 ms', 'longest ms', 'gave up'],
      rows: results.map(({ name, p50, p95, longest, gaveUp }) => [
        name,
        ...[p50, p95, longest].map(figure),
        `${gaveUp}`,
      ]),
    },
  ],

  charts: ({ results }) => [
    barChart({
      file: 'wake-up.svg',
      title: 'Wake-up between two processes: ms, p50',
      groups: results
        .filter(({ p50 }) => p50 !== undefined)
        .map(({ name, p50 }) => ({ name, values: { ms: p50 } })),
    }),
  ],
}

const pauseMs = (spreadMs) => BEFORE_MS + Math.random() * spreadMs

const once = async ([holder, waiter], { name: variant }, name, spreadMs) => {
  await holder.call('hold', { variant, name })
  const waiting = waiter.call('waitFor', { variant, name })
  await sleep(pauseMs(spreadMs))
  const from = await holder.call('letGo', { name })
  const to = await waiting
  return to === null ? null : (to - from) / 1e6
}

const resultOf = ({ name, kind }, { ms, gaveUp }) => ({
  name,
  kind,
  woken: ms.length,
  gaveUp,
  ...(ms.length > 0 ? { p50: quantile(ms, 0.5), p95: quantile(ms, 0.95), longest: Math.max(...ms) } : {}),
})
