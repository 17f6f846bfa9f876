// What it costs to be looked on: uncontended lock and release, with nobody subscribed, with a listener that does nothing,
// with metrics. docs/telemetry.md has the figures.
import { RedisServer, WorkerProcess } from '@holdfast/testing'
import { interruption } from './interruption.mjs'
import { parseOptions, wholeNumber } from './command-line.mjs'
import { runScript } from './script-main.mjs'
import { table } from './table.mjs'

const WORKER = new URL('./telemetry/overhead-worker.mjs', import.meta.url)
const DEFAULTS = { rounds: 15, ms: 300, flows: 100, processes: 3 }
const WAYS = ['nobody subscribed', 'a listener that does nothing', 'metrics: producer', 'metrics: api']

const USAGE = `Usage: npm run bench:telemetry -- [options]

  --rounds N      measured rounds, after one of warm-up          (${DEFAULTS.rounds})
  --ms N          of one way in one round                        (${DEFAULTS.ms})
  --flows N       parallel flows, each with a lock of its own    (${DEFAULTS.flows})
  --processes N   of each way                                    (${DEFAULTS.processes})
  --before DIR    measures a built checkout of an earlier version, too
  --help

Each way has processes of its own, and they take turns: whoever is subscribed is so for a whole process. Several,
because two processes that do the same differ by a few percent, by what the compiler made of them.`

const parseArguments = (args) => {
  const text = { type: 'string' }
  const values = parseOptions(args, {
    ...{ rounds: text, ms: text, flows: text, processes: text, before: text },
    help: { type: 'boolean', default: false },
  })
  const count = (name) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], 999_999)
  const counts = ['rounds', 'ms', 'flows', 'processes'].map((name) => [name, count(name)])
  return { ...values, ...Object.fromEntries(counts) }
}

const interrupted = interruption()
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1]

const measure = async ({ rounds, ms, flows, processes, before }) => {
  const redis = await RedisServer.start()
  const workers = []
  try {
    const ways = before ? ['before', ...WAYS] : WAYS
    for (const way of Array.from({ length: processes }, () => ways).flat()) {
      const process = await WorkerProcess.start(WORKER)
      workers.push({ way, process, samples: [] })
      await process.call('begin', { way, url: redis.url, flows, before })
    }
    for (let round = 0; round <= rounds; round += 1) {
      for (const { process, samples } of workers) {
        interrupted.throwIfAborted()
        const sample = await process.call('measure', ms)
        if (round > 0) samples.push(sample)
      }
    }
    return ways.map((way) => {
      const ofWay = workers.filter((worker) => worker.way === way).map(({ samples }) => samples)
      const pairs = median(ofWay.flat().map((each) => each.pairsPerSecond))
      // What others do on the machine only adds to it.
      const least = ofWay.map((samples) => Math.min(...samples.map((each) => each.clientMicros)))
      return { way, pairs, micros: median(least) }
    })
  } finally {
    await Promise.all(workers.map(({ process }) => process.kill()))
    await redis.stop()
  }
}

await runScript({
  ...{ parseArguments, USAGE },
  run: async (wanted) => {
    const results = await measure(wanted)
    const [{ pairs, micros }] = results
    const rows = results.map((each) => [
      each.way,
      ...[String(Math.round(each.pairs)), (each.pairs / pairs).toFixed(3)],
      ...[each.micros.toFixed(2), (each.micros / micros).toFixed(3)],
    ])
    console.log(
      table([
        ['way', 'pairs/s', 'of the first', 'least CPU of the client, µs', 'of the first'],
        ...rows,
      ]).join('\n'),
    )
    return true
  },
  complaint: (error) => (interrupted.aborted ? interrupted.reason.message : error),
})
