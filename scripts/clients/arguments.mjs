import { parseOptions, requireKnown, UsageError } from '../command-line.mjs'
import { CLIENTS } from './catalog.mjs'

const NAMES = CLIENTS.map(({ name }) => name)
/** Columns of the table in docs/support.md. */
export const TOPOLOGIES = ['single', 'cluster', 'sentinel']

export const USAGE = `Usage: npm run test:clients [-- options of Jest]
       npm run test:clients -- --contract [options]

  --contract     runs the contract suites with each client on each topology, and prints the cells of docs/support.md;
                 without it every test runs with every client
  --only NAME    one client; may be given again   (${NAMES.join(', ')})
  --on NAME      one topology; may be given again   (${TOPOLOGIES.join(', ')})
  --help

Exit code: 0 what was run has passed, 1 something failed, 2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  if (args.includes('--help')) return { help: true }
  if (!args.includes('--contract')) {
    const ours = args.find((each) => /^--(only|on)(=|$)/.test(each))
    if (ours !== undefined) throw new UsageError(`${ours} goes with --contract`)
    return { isContract: false, forJest: args }
  }
  const { only, on } = parseOptions(args, {
    contract: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: NAMES },
    on: { type: 'string', multiple: true, default: TOPOLOGIES },
  })
  requireKnown('only', only, NAMES)
  requireKnown('on', on, TOPOLOGIES)
  return {
    isContract: true,
    clients: CLIENTS.filter(({ name }) => only.includes(name)),
    topologies: TOPOLOGIES.filter((name) => on.includes(name)),
  }
}
