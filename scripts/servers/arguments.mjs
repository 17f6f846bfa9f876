import { parseOptions, requireKnown, UsageError } from '../command-line.mjs'
import { SERVERS } from './catalog.mjs'

/** @param {import('./catalog.mjs').CatalogedServer} server */
export const nameOf = ({ family, release }) => `${family}-${release}`

const NAMES = SERVERS.map(nameOf)
/** The first of each family. */
const NEWEST = NAMES.filter((_, i) => SERVERS.findIndex(({ family }) => family === SERVERS[i].family) === i)

export const USAGE = `Usage: npm run test:servers -- [options]

  --only NAME    one server; may be given again   (${NAMES.join(', ')})
  --newest       the newest of each family: ${NEWEST.join(' and ')}
  --smoke        the conformance tests and those of what is sent, alone
  --list         the servers, which of them are in the cache, and what runs on each; nothing is run
  --help

Servers are fetched into ~/.cache/holdfast (or HOLDFAST_CACHE) when they are not there; nothing is installed. One that
cannot be fetched, or does not run on this machine, is not run: the reason is said, and it is no failure.

Exit code: 0 what was run has passed, 1 something failed, 2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const { only, ...values } = parseOptions(args, {
    only: { type: 'string', multiple: true, default: [] },
    newest: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  })
  requireKnown('only', only, NAMES)
  if (values.newest && only.length > 0)
    throw new UsageError('--newest and --only choose servers: give one of them')
  const chosen = values.newest ? NEWEST : only.length > 0 ? only : NAMES
  return { ...values, servers: SERVERS.filter((server) => chosen.includes(nameOf(server))) }
}
