import { parseOptions, requireKnown } from '../command-line.mjs'
import { RUNTIMES } from './catalog.mjs'

const NAMES = RUNTIMES.map(({ name }) => name)

export const USAGE = `Usage: npm run test:runtimes -- [options]

  --only NAME    one runtime; may be given again   (${NAMES.join(', ')})
  --smoke        without the unit tests on Node 24 and 26
  --list         the runtimes, and what runs on each; nothing is run
  --help

Runtimes are fetched from npm into ~/.cache/holdfast (or HOLDFAST_CACHE) when they are not there; nothing is installed.
One that cannot be fetched, or does not run on this machine, is not run: the reason is said, and it is no failure.

Exit code: 0 what was run has passed, 1 something failed, 2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const { only, ...values } = parseOptions(args, {
    only: { type: 'string', multiple: true, default: NAMES },
    smoke: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  })
  requireKnown('only', only, NAMES)
  return { ...values, runtimes: RUNTIMES.filter(({ name }) => only.includes(name)) }
}
