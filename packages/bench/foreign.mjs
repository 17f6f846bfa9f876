// The cost of foreignLocks where no string is in the way: a build of the commit that brought it beside the one before, and
// this tree with the option and without it, in turns. docs/beside-other-locks.md has the figures.
import { loadavg } from 'node:os'
import { parseOptions, UsageError, wholeNumber } from '../../scripts/command-line.mjs'
import { NotAvailable } from '../../scripts/support/cache.mjs'
import { table } from '../../scripts/table.mjs'
import { log, runCommand, withServerProgram } from './src/command.mjs'
import { behindAString } from './src/foreign/behind-a-string.mjs'
import { builtAt } from './src/foreign/built-at.mjs'
import { inTurns, LOADS } from './src/foreign/in-turns.mjs'

const DEFAULTS = { rounds: 9, ms: 1_000 }
const MOST_PROCESSES = 1_000
const BROUGHT_IT = '4c23db8'

const USAGE = `Usage: npm run bench:foreign -- [options]

  --rounds N   measured rounds, after one of warm-up     (${DEFAULTS.rounds})
  --ms N       of one side with one load in one round    (${DEFAULTS.ms})
  --fleet N    instead: what N processes that wait for one string of 30 s cost Redis
  --today      without the builds of the two commits, which npm and git make in ~/.cache/holdfast
  --help

Each side is a process of its own, and they take turns. Figures of a machine that does something else mean little: the
load is told, before and after.`

const parseArguments = (args) => {
  const { rounds, ms, fleet, ...flags } = parseOptions(args, {
    ...{ rounds: { type: 'string' }, ms: { type: 'string' }, fleet: { type: 'string' } },
    today: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  })
  const count = (name, given) => (given === undefined ? DEFAULTS[name] : wholeNumber(name, given, 99_999))
  if (rounds === '0') throw new UsageError('--rounds takes a whole number from 1 to 99999, not 0')
  return {
    ...flags,
    ...{ rounds: count('rounds', rounds), ms: count('ms', ms) },
    fleet: fleet === undefined ? undefined : wholeNumber('fleet', fleet, MOST_PROCESSES),
  }
}

/** Each beside the one before it in its pair. */
const pairsOf = async (isToday) => {
  const today = [
    { called: 'this tree', options: {} },
    { called: "this tree, foreignLocks: 'wait'", options: { foreignLocks: 'wait' } },
  ]
  if (isToday) return [today]
  try {
    const [before, after] = [await builtAt(`${BROUGHT_IT}^`), await builtAt(BROUGHT_IT)]
    const commits = [
      { called: `before it, ${before.commit}`, folder: before.folder, options: {} },
      { called: `with it, ${after.commit}`, folder: after.folder, options: {} },
    ]
    return [commits, today]
  } catch (error) {
    if (!(error instanceof NotAvailable)) throw error
    log(`left out: the two commits, ${error.message}`)
    return [today]
  }
}

const sayLoad = () => log(`load of the machine, one minute: ${loadavg()[0].toFixed(2)}`)

const main = (wanted, interrupted) =>
  withServerProgram(async () => {
    if (wanted.fleet !== undefined) {
      const { commandsPerSecond, share } = await behindAString(wanted.fleet, { interrupted, log })
      console.log(
        `${wanted.fleet} processes behind one string: ${Math.round(commandsPerSecond)} commands a second, ` +
          `${(100 * share).toFixed(1)} % of a core for Redis`,
      )
      return
    }
    for (const pair of await pairsOf(wanted.today)) {
      sayLoad()
      const rows = await inTurns(pair, LOADS, { ...wanted, interrupted, log })
      sayLoad()
      const [first, second] = pair
      const head = [
        '',
        `${first.called}: pairs/s`,
        `${second.called}: pairs/s`,
        'of the first',
        'CPU of the client',
      ]
      console.log(table([head, ...rows]).join('\n'))
    }
  })

await runCommand(USAGE, parseArguments, main)
