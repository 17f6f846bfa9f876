import { parseOptions, UsageError, wholeNumber } from '../command-line.mjs'

const MOST = 100_000
const DEFAULTS = { waiters: 500, processes: 4, small: 20, seed: 1, resync: 1_000, sizes: '10,100,1000' }

export const USAGE = `Usage: npm run test:fair -- [options]

  --waiters N      callers in line                                      (${DEFAULTS.waiters})
  --processes P    processes they come from                             (${DEFAULTS.processes})
  --small K        processes where a tenth of them is killed            (${DEFAULTS.small})
  --seed S         whole number; decides who dies or leaves, and when   (${DEFAULTS.seed})
  --resync MS      heartbeat of each process, ms                        (${DEFAULTS.resync})
  --sizes LIST     lengths of the lines whose cost is measured          (${DEFAULTS.sizes})
  --json           what was measured, as JSON
  --help

Exit code: 0 everything held, 1 something did not, 2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const values = parseOptions(args, {
    ...Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, { type: 'string' }])),
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  })
  const count = (name) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], MOST)
  const wanted = {
    waiters: count('waiters'),
    processes: count('processes'),
    small: count('small'),
    seed: count('seed'),
    resyncMs: count('resync'),
    sizes: (values.sizes ?? DEFAULTS.sizes).split(',').map((size) => wholeNumber('sizes', size.trim(), MOST)),
    json: values.json,
    help: values.help,
  }
  if (wanted.small < 2) throw new UsageError('--small takes at least 2: one process is killed')
  return wanted
}
