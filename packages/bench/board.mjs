// Costs of the board and of reports: Redis with ten thousand locks of clients that report, beside a million other keys, and a
// client that locks and releases as fast as it can, in turns with its report and without. docs/board.md has the figures.
import { parseOptions, wholeNumber } from '../../scripts/command-line.mjs'
import { table } from '../../scripts/table.mjs'
import { runCommand, withServerProgram } from './src/command.mjs'
import { costOfBoard } from './src/board/cost-of-board.mjs'
import { costOfReport } from './src/board/cost-of-report.mjs'

const DEFAULTS = { keys: 1_000_000, locks: 10_000, seconds: 20, rounds: 40 }

const USAGE = `Usage: npm run bench:board -- [options]

  --keys N      other keys in Redis, a tenth of them hashes          (${DEFAULTS.keys})
  --locks N     held locks, 200 of each client                       (${DEFAULTS.locks})
  --seconds N   of each way                                          (${DEFAULTS.seconds})
  --rounds N    turns with a report and without                      (${DEFAULTS.rounds})
  --help`

const parseArguments = (args) => {
  const text = { type: 'string' }
  const options = { keys: text, locks: text, seconds: text, rounds: text }
  const values = parseOptions(args, { ...options, help: { type: 'boolean', default: false } })
  const count = (name) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], 10_000_000)
  return { ...values, ...Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, count(name)])) }
}

const percent = (share) => `${(100 * share).toFixed(2)} %`

const main = (wanted, interrupted) =>
  withServerProgram(async () => {
    const { ways, known } = await costOfBoard(wanted, interrupted)
    const rows = ways.map(({ way, redis, process: own }, i) => [
      way,
      percent(redis),
      i === 0 ? '' : percent(redis - ways[i - 1].redis),
      percent(own),
    ])
    console.log(`${wanted.locks} locks beside ${wanted.keys} other keys; the page had ${known} locks.\n`)
    console.log(table([['way', 'Redis, of a core', 'more than before', 'this process'], ...rows]).join('\n'))
    const { pairs, cpu } = await costOfReport(wanted, interrupted)
    console.log(
      `\nA client that reports every second, beside itself without: ${pairs.toFixed(3)} of the pairs,`,
    )
    console.log(`${cpu.toFixed(3)} of its CPU for each.`)
  })

await runCommand(USAGE, parseArguments, main)
