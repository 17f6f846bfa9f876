import { parseOptions, UsageError, wholeNumber } from '../../../scripts/command-line.mjs'

/** The servers that the engine is held against; it imitates the first. */
export const SERVERS = ['redis-7.0', 'redis-8.2', 'valkey-9']
const OPERATIONS = 200_000
const MOST_OPERATIONS = 100_000_000
const MOST_SEED = 0xffff_ffff

export const USAGE = `Usage: npm run test:engine -- [options]

  --seed N         the programs: the same seed gives the same ones      (1)
  --operations N   how many commands and scripts, on each server        (${OPERATIONS})
  --only NAME      one server; may be given again                       (${SERVERS.join(', ')})
  --help

Random programs of all commands that the engine of @holdfast/testing knows, and of all scripts of Holdfast, run on it and
on real servers: replies, errors, keys, times to live and messages have to be the same. Servers are fetched as by
npm run test:servers; one that cannot be had here is not run, and the reason is said.

Exit code: 0 no difference, 1 one, which is printed as the shortest program that shows it, 2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const { only, seed, operations, help } = parseOptions(args, {
    only: { type: 'string', multiple: true, default: [] },
    seed: { type: 'string', default: '1' },
    operations: { type: 'string', default: String(OPERATIONS) },
    help: { type: 'boolean', default: false },
  })
  const unknown = only.find((name) => !SERVERS.includes(name))
  if (unknown !== undefined)
    throw new UsageError(`--only takes one of ${SERVERS.join(', ')}, not '${unknown}'`)
  return {
    help,
    seed: wholeNumber('seed', seed, MOST_SEED),
    operations: wholeNumber('operations', operations, MOST_OPERATIONS),
    servers: SERVERS.filter((name) => only.length === 0 || only.includes(name)),
  }
}
