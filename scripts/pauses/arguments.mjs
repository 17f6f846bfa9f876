import { parseOptions, wholeNumber } from '../command-line.mjs'

const MOST = 9_999_999
// Below it the time a signal takes to arrive would be a large part of the shortest pause.
const SHORTEST_LEASE_MS = 300
const DEFAULTS = { rounds: 3, seed: 1, holders: 4, lease: 1_000 }

export const USAGE = `Usage: npm run test:pauses -- [options]

  --rounds N      how often each holder is paused in every way and length     (${DEFAULTS.rounds})
  --seed S        whole number; decides the order                             (${DEFAULTS.seed})
  --holders N     processes that are paused                                   (${DEFAULTS.holders})
  --lease MS      how long a lock lasts without renewal, from ${SHORTEST_LEASE_MS} ms             (${DEFAULTS.lease})
  --history FILE  keeps the events of the run as JSON lines
  --help

Exit code: 0 nothing was violated, 1 something was, 2 the arguments are wrong.`

/** @param {string[]} args @throws {import('../command-line.mjs').UsageError} */
export const parseArguments = (args) => {
  const names = Object.keys(DEFAULTS)
  const values = parseOptions(args, {
    ...Object.fromEntries(names.map((name) => [name, { type: 'string', default: String(DEFAULTS[name]) }])),
    history: { type: 'string' },
    help: { type: 'boolean', default: false },
  })
  const count = (name, least) => wholeNumber(name, values[name], MOST, least)
  return {
    rounds: count('rounds'),
    seed: count('seed'),
    holders: count('holders'),
    leaseMs: count('lease', SHORTEST_LEASE_MS),
    history: values.history,
    help: values.help,
  }
}
