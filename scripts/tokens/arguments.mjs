import { parseOptions, wholeNumber } from '../command-line.mjs'

const MOST = 9_999_999
const DEFAULTS = { acquisitions: 10_000, processes: 4, callers: 4, seed: 1 }

export const USAGE = `Usage: npm run test:tokens -- [options]

  --acquisitions N   of one lock, in each series; fewer where tokens are lost          (${DEFAULTS.acquisitions})
  --processes N      worker processes                                                  (${DEFAULTS.processes})
  --callers N        callers in each process                                           (${DEFAULTS.callers})
  --seed S           whole number; decides what happens to Redis, and when             (${DEFAULTS.seed})
  --json             what was measured, as JSON
  --help

Exit code: 0 tokens grew where they have to, and did not where they cannot; 1 otherwise, 2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const flag = { type: 'boolean', default: false }
  const values = parseOptions(args, {
    ...Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, { type: 'string' }])),
    ...{ json: flag, help: flag },
  })
  const count = (name, least) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], MOST, least)
  return {
    acquisitions: count('acquisitions', 100),
    processes: count('processes'),
    callers: count('callers'),
    seed: count('seed'),
    json: values.json,
    help: values.help,
  }
}
