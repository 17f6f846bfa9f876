import { parseOptions, UsageError } from '../command-line.mjs'
import { TOPOLOGIES } from './launch.mjs'

const NAMES = Object.keys(TOPOLOGIES)

export const USAGE = `Usage: npm run test:topologies -- [options]

  --only NAME   one topology; may be given again   (${NAMES.join(', ')})
  --smoke       one suite of each, on one client
  --json        what came of it, as JSON
  --help

Exit code: 0 everything passed, 1 something did not, 2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const values = parseOptions(args, {
    only: { type: 'string', multiple: true, default: NAMES },
    smoke: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  })
  const unknown = values.only.find((name) => !NAMES.includes(name))
  if (unknown !== undefined) throw new UsageError(`--only takes one of ${NAMES.join(', ')}, not '${unknown}'`)
  return values
}
