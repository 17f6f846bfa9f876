import { parseOptions, UsageError, wholeNumber } from '../command-line.mjs'
import { FAULT_NAMES } from '../torture/faults.mjs'
import { KINDS } from './names.mjs'

const MOST = 999_999_999
const DEFAULTS = { seconds: 20, processes: 4, callers: 8, permits: 5, seed: 1, lease: 1_500, resync: 300 }
// Where Redis loses its data nothing is promised, and nobody can take a permit away by force.
const FAULTS = FAULT_NAMES.filter((name) => !['redis-restarts-empty', 'force-unlock'].includes(name))

export const USAGE = `Usage: npm run test:semaphores -- [options]

  --seconds N      how long faults go on                                        (${DEFAULTS.seconds})
  --seed S         whole number; decides what happens when                      (${DEFAULTS.seed})
  --faults LIST    names separated by commas, 'all' or 'none'                   (process-killed)
                   ${FAULTS.join(', ')}
  --kinds LIST     separated by commas, or 'all'                                (all)
                   ${KINDS.join(', ')}
  --processes N    worker processes                                             (${DEFAULTS.processes})
  --callers N      callers in each process                                      (${DEFAULTS.callers})
  --permits N      permits of each semaphore                                    (${DEFAULTS.permits})
  --lease MS       of permits that end, and of renewal                          (${DEFAULTS.lease})
  --resync MS      how often a waiter asks without being woken                  (${DEFAULTS.resync})
  --history FILE   keeps the events of the run as JSON lines
  --json           what was measured, as JSON
  --help

Exit code: 0 nothing was violated, 1 something was, 2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const [text, flag] = [{ type: 'string' }, { type: 'boolean', default: false }]
  const names = [...Object.keys(DEFAULTS), 'faults', 'kinds', 'history']
  const values = parseOptions(args, {
    ...Object.fromEntries(names.map((name) => [name, text])),
    ...{ json: flag, help: flag },
  })
  const count = (name, least) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], MOST, least)
  return {
    ...{ seconds: count('seconds'), seed: count('seed'), callers: count('callers') },
    ...{ processes: count('processes', 2), permits: count('permits', 2) },
    ...{ leaseMs: count('lease', 300), resyncMs: count('resync') },
    faults: values.faults === 'none' ? [] : listed('faults', values.faults ?? 'process-killed', FAULTS),
    kinds: listed('kinds', values.kinds ?? 'all', KINDS),
    ...{ history: values.history, json: values.json, help: values.help },
  }
}

const listed = (option, list, names) => {
  if (list === 'all') return names
  const wanted = list.split(',').map((name) => name.trim())
  const unknown = wanted.filter((name) => !names.includes(name))
  if (unknown.length > 0) {
    throw new UsageError(`--${option} knows no '${unknown.join("', '")}', only ${names.join(', ')}`)
  }
  return wanted
}
