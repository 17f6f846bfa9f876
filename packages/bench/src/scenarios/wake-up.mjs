import { measured } from '../comparison.mjs'
import { bars as barChart } from '../report/charts.mjs'
import { waitingVariants } from '../variants.mjs'
import { wakeUpProblems, wakeUps, wakeUpTable } from '../wake-ups.mjs'
import { withWorkers } from '../workers.mjs'

const BEST_MS = { 'redlock 5': 1, 'redlock 4': 1, 'redis-semaphore Mutex': 1, 'redlock-universal': 1 }
const LIFE = { atMostMs: 180_000, what: 'wake-up' }

/** One process holds, another waits: how long from the beginning of the unlock until the other has the lock. */
export const wakeUp = {
  id: 'wake-up',
  title: 'Wake-up between two processes',
  full: { times: 15, spreadMs: 100 },
  small: { times: 1, spreadMs: 1, warmUpMs: 50 },

  async run(context, { times, spreadMs, warmUpMs }) {
    return withWorkers(2, { ...LIFE, signal: context.signal }, (workers) =>
      wakeUps(workers, waitingVariants(BEST_MS), { times, spreadMs, warmUpMs }, context),
    )
  },

  problems: wakeUpProblems,

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

  tables: ({ results }) => [wakeUpTable('From the unlock until the other process has the lock', results)],

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
