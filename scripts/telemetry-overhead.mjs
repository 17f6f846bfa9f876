// What it costs to be looked on: uncontended lock and release, with nobody subscribed, with a listener that does nothing,
// with metrics. docs/telemetry.md has the figures.
import { RedisServer, WorkerProcess } from '@holdfast/testing'
import { interruption } from './interruption.mjs'
import { parseOptions, wholeNumber } from './command-line.mjs'
import { runScript } from './script-main.mjs'
import { table } from './table.mjs'

const WORKER = new URL('./telemetry/overhead-worker.mjs', import.meta.url)
const DEFAULTS = { rounds: 15, ms: 500, flows: 100 }
const WAYS = ['nobody subscribed', 'a listener that does nothing', 'metrics: producer', 'metrics: api']

const USAGE = `Usage: npm run bench:telemetry -- [options]

  --rounds N      measured rounds, after one of warm-up          (${DEFAULTS.rounds})
  --ms N          of one way in one round                        (${DEFAULTS.ms})
  --flows N       parallel flows, each with a lock of its own    (${DEFAULTS.flows})
  --before DIR    measures a built checkout of an earlier version, too
  --help

Each way has a process of its own, and they take turns: whoever is subscribed is so for a whole process.`

const parseArguments = (args) => {
  const text = { type: 'string' }
  const values = parseOptions(args, {
    ...{ rounds: text, ms: text, flows: text, before: text },
    help: { type: 'boolean', default: false },
  })
  const count = (name) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], 999_999)
  return { rounds: count('rounds'), ms: count('ms'), flows: count('flows'), ...values }
}

const interrupted = interruption()
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1]

const measure = async ({ rounds, ms, flows, before }) => {
  const redis = await RedisServer.start()
  const workers = []
  try {
    for (const way of before ? ['before', ...WAYS] : WAYS) {
      const process = await WorkerProcess.start(WORKER)
      workers.push({ way, process, samples: [] })
      await process.call('begin', { way, url: redis.url, flows: Number(flows), before })
    }
    for (let round = 0; round <= Number(rounds); round += 1) {
      for (const { process, samples } of workers) {
        interrupted.throwIfAborted()
        const sample = await process.call('measure', Number(ms))
        if (round > 0) samples.push(sample)
      }
    }
    return workers.map(({ way, samples }) => ({
      way,
      pairs: median(samples.map((each) => each.pairsPerSecond)),
      // What others do on the machine only adds to it.
      micros: Math.min(...samples.map((each) => each.clientMicros)),
    }))
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
