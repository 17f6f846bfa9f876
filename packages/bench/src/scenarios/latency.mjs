import { LockClient } from '@holdfast/core'
import { withCells } from '../cells.mjs'
import { connect, optionsFor } from '../connection.mjs'
import { SETTINGS } from '../contestants/index.mjs'
import { rawCommands } from '../contestants/raw.mjs'
import { microsOf } from '../micros-of.mjs'
import { bars as barChart } from '../report/charts.mjs'
import { decimals, ratio } from '../report/table.mjs'
import { quantile } from '../statistics.mjs'

const settings = SETTINGS.filter(({ id }) => id !== 'default')
const BATCH = 500
/** Pairs of one contestant before the next has its turn. */
const AT_ONCE = 100

/** One flow, nobody else: how long a caller waits for lock and for unlock. Interleaved call by call. */
export const latency = {
  id: 'latency',
  title: 'Uncontended: latency',
  full: { pairs: 3_000, warmUp: 2_000 },
  small: { pairs: 5, warmUp: 1 },

  async run(context, { pairs, warmUp }) {
    const parts = await partsOf(context, { pairs, warmUp })
    const use = (cells) => wholePairs(cells, { pairs, warmUp }, context)
    return {
      pairs,
      parts,
      results: await withCells(context, { settings, flows: 1, scenario: 'latency', atMostMs: 180_000 }, use),
    }
  },

  problems: ({ results, parts, pairs }) =>
    [...results, ...parts].flatMap(({ name, count }) =>
      count === pairs ? [] : [`${name}: ${count} of ${pairs} pairs`],
    ),

  bars({ parts }) {
    const of = (name) => parts.find((each) => each.name === name)
    return [
      ['lock()', 'acquire, raw EVALSHA'],
      ['release()', 'release, raw EVALSHA'],
    ].map(([name, raw]) => ({
      text: `one flow, auto-pipelining off: p50 of ${name}, of one ${raw}`,
      value: of(name).p50 / of(raw).p50,
      most: 1.1,
    }))
  },

  tables({ parts, results }) {
    const head = (what) => [what, 'p50 µs', 'p95 µs', 'p99 µs']
    const row = ({ name, p50, p95, p99 }) => [name, ...[p50, p95, p99].map((each) => decimals(each, 0))]
    const rawOf = (id) => results.find(({ kind, setting }) => kind === 'raw' && setting === id)
    return [
      { title: 'One call, auto-pipelining off', head: head('call'), rows: parts.map(row) },
      ...settings.map(({ id, title }) => ({
        title: `${title}: a pair, one flow`,
        head: [...head('contestant'), 'of raw'],
        rows: results
          .filter(({ setting }) => setting === id)
          .map((each) => [...row(each), ratio(rawOf(id) && each.p50 / rawOf(id).p50)]),
      })),
    ]
  },

  charts: ({ results }) => [
    barChart({
      file: 'latency.svg',
      title: 'Lock and unlock, one flow: µs for a pair, p50',
      groups: [...new Set(results.map(({ name }) => name))].map((name) => ({
        name,
        values: Object.fromEntries(
          results
            .filter((each) => each.name === name)
            .map(({ setting, p50 }) => [`auto-pipelining ${setting}`, p50]),
        ),
      })),
    }),
  ],
}

const summaryOf = (micros) => ({
  count: micros.length,
  p50: quantile(micros, 0.5),
  p95: quantile(micros, 0.95),
  p99: quantile(micros, 0.99),
})

/** Some pairs of each in turn, over and over. */
const wholePairs = async (cells, { pairs, warmUp }, { signal, log }) => {
  log(`latency: ${pairs} pairs of each`)
  const taken = cells.map(() => [])
  for (const cell of cells) await cell.pairTimes(warmUp)
  for (let left = pairs; left > 0; left -= AT_ONCE) {
    signal.throwIfAborted()
    for (const [k, cell] of cells.entries()) {
      // A process that has slept is slow at first.
      await cell.pairTimes(1)
      taken[k].push(...(await cell.pairTimes(Math.min(left, AT_ONCE))))
    }
  }
  return cells.map(({ setting, name, kind }, k) => ({ setting, name, kind, ...summaryOf(taken[k]) }))
}

/** Lock and release of Holdfast, and the same scripts raw, one call each in turn, over one connection each. */
const partsOf = async (context, { pairs, warmUp }) => {
  const options = optionsFor(context.url, false)
  const [redis, plain] = [await connect(options), await connect(options)]
  const locks = await LockClient.connect(redis)
  try {
    const lock = locks.getLock(context.name('latency', 'holdfast'))
    const { acquire, release } = rawCommands(context.name('latency', 'raw'))
    const owner = `bench-${process.pid}~${context.runId.padEnd(21, '0')}`
    await (await lock.lock()).release() // loads the scripts
    const micros = { acquire: [], lock: [], rawRelease: [], release: [] }
    for (let i = -warmUp; i < pairs; i += 1) {
      if (i % BATCH === 0) context.signal.throwIfAborted()
      let hold
      const turn = {
        acquire: await microsOf(() => plain.evalsha(...acquire(`${owner}:${i + warmUp}`))),
        lock: await microsOf(async () => (hold = await lock.lock())),
        rawRelease: await microsOf(() => plain.evalsha(...release(`${owner}:${i + warmUp}`))),
        release: await microsOf(() => hold.release()),
      }
      if (i >= 0) for (const [name, value] of Object.entries(turn)) micros[name].push(value)
    }
    return [
      { name: 'acquire, raw EVALSHA', ...summaryOf(micros.acquire) },
      { name: 'lock()', ...summaryOf(micros.lock) },
      { name: 'release, raw EVALSHA', ...summaryOf(micros.rawRelease) },
      { name: 'release()', ...summaryOf(micros.release) },
    ]
  } finally {
    await locks.close()
    redis.disconnect()
    plain.disconnect()
  }
}
