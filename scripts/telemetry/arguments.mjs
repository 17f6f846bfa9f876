import { parseOptions, UsageError, wholeNumber } from '../command-line.mjs'
import { FAULT_NAMES } from '../torture/faults.mjs'

const MOST = 999_999
const DEFAULTS = { seconds: 20, processes: 4, callers: 10, seed: 1, lease: 900, resync: 300 }
// It needs the register of the torture run.
const FAULTS = FAULT_NAMES.filter((name) => name !== 'redis-restarts-empty')

export const USAGE = `Usage: npm run test:telemetry -- [options]

  --seconds N      how long faults go on                                        (${DEFAULTS.seconds})
  --seed S         whole number; decides what happens when                      (${DEFAULTS.seed})
  --faults LIST    names separated by commas, or 'all'                          (all)
                   ${FAULTS.join(', ')}
  --processes N    worker processes                                             (${DEFAULTS.processes})
  --callers N      callers in each process                                      (${DEFAULTS.callers})
  --lease MS       of renewal                                                   (${DEFAULTS.lease})
  --resync MS      how often a waiter asks without being woken                  (${DEFAULTS.resync})
  --help

Exit code: 0 every metric was what callers had counted, 1 one was not, 2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const text = { type: 'string' }
  const names = [...Object.keys(DEFAULTS), 'faults']
  const values = parseOptions(args, {
    ...Object.fromEntries(names.map((name) => [name, text])),
    help: { type: 'boolean', default: false },
  })
  const count = (name, least) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], MOST, least)
  return {
    ...{ seconds: count('seconds'), seed: count('seed'), processes: count('processes', 2) },
    ...{ callers: count('callers'), leaseMs: count('lease', 300), resyncMs: count('resync') },
    faults: listed(values.faults ?? 'all'),
    help: values.help,
  }
}

const listed = (list) => {
  if (list === 'all') return FAULTS
  const wanted = list.split(',').map((name) => name.trim())
  const unknown = wanted.filter((name) => !FAULTS.includes(name))
  if (unknown.length > 0) {
    throw new UsageError(`--faults knows no '${unknown.join("', '")}', only ${FAULTS.join(', ')}`)
  }
  return wanted
}
