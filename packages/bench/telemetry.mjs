// The cost of being looked on: uncontended lock and release, with nobody subscribed, with a listener that does nothing,
// with metrics. docs/telemetry.md has the figures.
import { parseOptions, UsageError, wholeNumber } from '../../scripts/command-line.mjs'
import { table } from '../../scripts/table.mjs'
import { runCommand, withServerProgram } from './src/command.mjs'
import { betweenProcesses, withinProcesses } from './src/telemetry/overhead.mjs'

const DEFAULTS = { rounds: 15, ms: 300, flows: 100, processes: 3 }

const USAGE = `Usage: npm run bench:telemetry -- [options]

  --rounds N      measured rounds, after some of warm-up         (${DEFAULTS.rounds})
  --ms N          of one way in one round                        (${DEFAULTS.ms})
  --flows N       parallel flows, each with a lock of its own    (${DEFAULTS.flows})
  --processes N   of each way                                    (${DEFAULTS.processes})
  --in-turns      each process is looked on and not, in turns
  --new-names     another name for each lock and release
  --before DIR    measures a built checkout of an earlier version, too; not with --in-turns
  --help

Each way has processes of its own, and they take turns: whoever is subscribed is so for a whole process. Several,
because two processes that do the same differ by a few percent, by what the compiler made of them. With --in-turns
each is compared with itself, a moment before or after.`

const parseArguments = (args) => {
  const text = { type: 'string' }
  const flag = { type: 'boolean', default: false }
  const values = parseOptions(args, {
    ...{ rounds: text, ms: text, flows: text, processes: text, before: text },
    ...{ 'in-turns': flag, 'new-names': flag, help: flag },
  })
  if (values['in-turns'] && values.before) {
    throw new UsageError('--before is not for --in-turns')
  }
  const count = (name) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], 999_999)
  const counts = ['rounds', 'ms', 'flows', 'processes'].map((name) => [name, count(name)])
  return { ...values, newNames: values['new-names'], ...Object.fromEntries(counts) }
}

const compareProcesses = async (wanted, interrupted) => {
  const results = await betweenProcesses(wanted, interrupted)
  const [{ pairs, micros }] = results
  return [
    ['way', 'pairs/s', 'of the first', 'least CPU of the client, µs', 'of the first'],
    ...results.map((each) => [
      each.way,
      ...[String(Math.round(each.pairs)), (each.pairs / pairs).toFixed(3)],
      ...[each.micros.toFixed(2), (each.micros / micros).toFixed(3)],
    ]),
  ]
}

const compareTurns = async (wanted, interrupted) => {
  const results = await withinProcesses(wanted, interrupted)
  return [
    ['way, beside nobody subscribed', 'CPU, least tenth', 'CPU, median', 'pairs/s, median'],
    ...results.map(({ way, ...ratios }) => [
      way,
      ...[ratios.least, ratios.micros, ratios.pairs].map((ratio) => ratio.toFixed(3)),
    ]),
  ]
}

const main = (wanted, interrupted) =>
  withServerProgram(async () => {
    const compare = wanted['in-turns'] ? compareTurns : compareProcesses
    console.log(table(await compare(wanted, interrupted)).join('\n'))
  })

await runCommand(USAGE, parseArguments, main)
