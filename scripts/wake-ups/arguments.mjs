import { parseOptions, wholeNumber } from '../command-line.mjs'

const MOST = 9_999_999
const DEFAULTS = { waits: 20_000, seed: 1, processes: 3, locks: 24, resync: 1_000 }

export const USAGE = `Usage: npm run test:wake-ups -- [options]

  --waits N        hand-offs to measure with faults, and as many without   (${DEFAULTS.waits})
  --seed S         whole number; decides who waits, and for how long       (${DEFAULTS.seed})
  --processes N    worker processes, at least 2                            (${DEFAULTS.processes})
  --locks N        locks that are handed from one process to another       (${DEFAULTS.locks})
  --resync MS      how often a waiter asks without being woken, ms         (${DEFAULTS.resync})
  --help

Exit code: 0 every wait ended in time, 1 one did not, 2 the arguments are wrong.`

/** @param {string[]} args @throws {import('../command-line.mjs').UsageError} */
export const parseArguments = (args) => {
  const names = Object.keys(DEFAULTS)
  const values = parseOptions(args, {
    ...Object.fromEntries(names.map((name) => [name, { type: 'string', default: String(DEFAULTS[name]) }])),
    help: { type: 'boolean', default: false },
  })
  const count = (name, least = 1) => wholeNumber(name, values[name], MOST, least)
  return {
    waits: count('waits'),
    seed: count('seed'),
    processes: count('processes', 2),
    locks: count('locks'),
    resyncMs: count('resync'),
    help: values.help,
  }
}
