import { withCells } from '../cells.mjs'
import { fastestPeer, measured, speed } from '../comparison.mjs'
import { earlyBars, fastest, labelOf } from '../contestants/fastest.mjs'
import { holdfastEarly, holdfastWithLock } from '../contestants/holdfast.mjs'
import { measure, warmUp, whoIs } from '../measure.mjs'
import { withNetwork } from '../network.mjs'
import { flowsIn, tableByFlows } from '../report/by-flows.mjs'
import { decimals, ratio } from '../report/table.mjs'
import { interleaved } from '../rounds.mjs'
import { waitingVariants } from '../variants.mjs'
import { wakeUpProblems, wakeUps, wakeUpTable } from '../wake-ups.mjs'
import { withWorkers } from '../workers.mjs'
import { renewals } from './renewals.mjs'

const AT_MOST_MS = 300_000
/** Pairs per second of calls that do not wait for the answer of their release, up to so many flows: what is asked for. */
const FEW = 32
const EARLY_OF_BEST_PEER = 1.5
const EARLY_OF_DEFAULT = 1.6
const BEST_MS = { 'redlock 5': 1, 'redlock 4': 1, 'redis-semaphore Mutex': 1, 'redlock-universal': 1 }

/** Libraries that ask again and again do so at their shortest interval: at others it is their timer that is measured. */
const variants = () =>
  waitingVariants(BEST_MS).filter(({ contestant, waits }) => waits || !(contestant in BEST_MS))

/** Redis is half a millisecond away for everybody. */
export const network = {
  id: 'network',
  title: 'A network with a round trip of 1 ms',
  full: {
    // With what the process between them, and Redis, take for a PING: half a millisecond each way.
    oneWayMs: 0.4,
    flows: [1, 4, 10, 32, 100],
    warmUpMs: 700,
    rounds: 7,
    ms: 200,
    leadInMs: 60,
    pings: 200,
    wakeUps: { times: 10, spreadMs: 60, warmUpMs: 300 },
    renewals: { held: 2_000, leaseMs: 6_000, batch: 25, row: 32 },
  },
  small: {
    oneWayMs: 0.4,
    flows: [2],
    warmUpMs: 1,
    rounds: 1,
    ms: 1,
    pings: 3,
    wakeUps: { times: 1, spreadMs: 1, warmUpMs: 50 },
    renewals: { held: 500, leaseMs: 1_500, batch: 25, row: 32, onlyOurs: true },
  },

  run: (context, params) =>
    withNetwork({ ...params, atMostMs: AT_MOST_MS }, context, async (through, way) => ({
      oneWayMs: params.oneWayMs,
      roundTripMs: await way.roundTripMs(params.pings),
      ...(await pairsOf(through, way, params)),
      handOver: await withWorkers(
        2,
        { signal: context.signal, atMostMs: AT_MOST_MS, what: 'network, hand-off' },
        (workers) => wakeUps(workers, variants(), params.wakeUps, through),
      ),
      renewals: await renewals.run(through, params.renewals),
    })),

  problems: ({ results, handOver, renewals: renewed, roundTripMs, oneWayMs }) => [
    ...results.flatMap(({ setting, name, flows, failure }) =>
      failure ? [`${name} (${setting}), ${flows} flows: ${failure}`] : [],
    ),
    ...(roundTripMs >= 2 * oneWayMs ? [] : [`a round trip took ${roundTripMs} ms`]),
    ...wakeUpProblems(handOver),
    ...renewals.problems(renewed),
  ],

  bars: ({ results }) =>
    flowsIn(results).flatMap((flows) => {
      const all = measured(results).filter((each) => each.flows === flows)
      const where = `1 ms network, ${flows} ${flows === 1 ? 'flow' : 'flows'}`
      return [
        ...besidePeer(all, flows, where),
        ...earlyBars(all, where, flows <= FEW ? EARLY_OF_DEFAULT : undefined),
      ]
    }),

  tables: ({ results, handOver, renewals: renewed, roundTripMs }) => [
    tableByFlows(`A PING takes ${decimals(roundTripMs, 2)} ms`, results),
    {
      title: 'The part of a core that the process between them took: below 1, it is not what limits',
      head: ['contestant', ...flowsIn(results).map(String)],
      rows: [...new Set(results.map(labelOf))].map((label) => [
        label,
        ...flowsIn(results).map((flows) =>
          ratio(results.find((each) => labelOf(each) === label && each.flows === flows)?.part?.median),
        ),
      ]),
    },
    wakeUpTable('Hand-off: from the unlock until the other process has the lock', handOver.results),
    ...renewals.tables(renewed),
  ],

  charts: () => [],
}

const besidePeer = (all, flows, where) => {
  const peer = fastestPeer(all)
  const ours = peer === undefined ? [] : all.filter(({ kind }) => kind === 'holdfast')
  return ours.map((each) => ({
    text: `${where}, ${each.name}: pairs/s, of ${peer.name} (${peer.setting}), the best peer`,
    value: speed(each) / speed(peer),
    least: leastOf(each, flows),
  }))
}

const leastOf = ({ name }, flows) => {
  if (name === holdfastEarly.name && flows <= FEW) return EARLY_OF_BEST_PEER
  return name === holdfastWithLock.name && flows === 10 ? 1 : undefined
}

const pairsOf = (through, way, { flows: counts, warmUpMs, rounds, ms, leadInMs }) => {
  const most = Math.max(...counts)
  const what = {
    scenario: 'network',
    settings: fastest({ withRaw: true }),
    flows: most,
    atMostMs: AT_MOST_MS,
  }
  return withCells(through, what, async (cells) => {
    await warmUp(cells, { flows: most, ms: warmUpMs }, through)
    const results = []
    for (const flows of counts) {
      const turn = async (cell) => {
        const { result, part } = await way.during(() => measure(cell, { flows, ms, leadInMs }, through))
        return { ...result, part }
      }
      const figures = await interleaved(cells, turn, { rounds, what: `network, ${flows} flows` }, through)
      results.push(...cells.map((cell, i) => ({ ...whoIs(cell), flows, ...figures[i] })))
    }
    return { results }
  })
}
