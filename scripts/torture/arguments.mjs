import { parseOptions, UsageError, wholeNumber } from '../command-line.mjs'
import { FAULT_NAMES } from './faults.mjs'
import { KINDS } from './lock-names.mjs'

const MOST = 999_999_999
const INTEROPS = ['redisson', 'none']
const DEFAULTS = {
  minutes: 1,
  seed: 1,
  processes: 3,
  flows: 12,
  locks: 8,
  lease: 1_500,
  resync: 300,
  delay: 0,
  drop: 0,
}

export const USAGE = `Usage: npm run test:torture -- [options]

  --minutes M      how long faults go on; parts of a minute are fine   (${DEFAULTS.minutes})
  --seed S         whole number; decides which faults come when        (${DEFAULTS.seed})
  --faults LIST    names separated by commas, 'all' or 'none'          (all)
                   ${FAULT_NAMES.join(', ')}
  --kinds LIST     kinds of locks, separated by commas, or 'all'       (all)
                   ${KINDS.join(', ')}
  --processes N    worker processes                                    (${DEFAULTS.processes})
  --flows N        callers in each process                             (${DEFAULTS.flows})
  --locks N        locks they all want                                 (${DEFAULTS.locks})
  --lease MS       how long a lock lasts without renewal, ms           (${DEFAULTS.lease})
  --resync MS      how often a waiter asks without being woken, ms     (${DEFAULTS.resync})
  --delay MS       how long every chunk travels, faults apart, ms       (${DEFAULTS.delay})
  --drop N         of the messages to a subscriber every N-th is lost, faults apart (none)
  --interop WHO    ${INTEROPS.join(' or ')}: who else uses the locks              (${INTEROPS[0]})
  --history FILE   keeps the events of the run as JSON lines
  --help

Exit code: 0 nothing was violated, 1 something was, 2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const text = { type: 'string' }
  const names = [
    'minutes',
    'seed',
    'faults',
    'kinds',
    'processes',
    'flows',
    'locks',
    'lease',
    'resync',
    'delay',
    'drop',
    'interop',
    'history',
  ]
  const values = parseOptions(args, {
    ...Object.fromEntries(names.map((name) => [name, text])),
    help: { type: 'boolean', default: false },
  })
  const count = (name) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], MOST)
  return {
    minutes: values.minutes === undefined ? DEFAULTS.minutes : positive('minutes', values.minutes),
    seed: count('seed'),
    processes: count('processes'),
    flows: count('flows'),
    locks: count('locks'),
    leaseMs: count('lease'),
    resyncMs: count('resync'),
    delayMs: count('delay'),
    dropNth: count('drop'),
    faults: listed('faults', values.faults, FAULT_NAMES),
    kinds: listed('kinds', values.kinds, KINDS),
    interop: oneOf('interop', values.interop ?? INTEROPS[0], INTEROPS),
    history: values.history,
    help: values.help,
  }
}

const listed = (option, list, names) => {
  if (list === undefined || list === 'all') return names
  if (list === 'none' && option === 'faults') return []
  const wanted = list.split(',').map((name) => name.trim())
  const unknown = wanted.filter((name) => !names.includes(name))
  if (unknown.length > 0) {
    throw new UsageError(`--${option} knows no '${unknown.join("', '")}', only ${names.join(', ')}`)
  }
  return wanted
}

const oneOf = (option, given, known) => {
  if (!known.includes(given)) throw new UsageError(`--${option} takes ${known.join(' or ')}, not '${given}'`)
  return given
}

const positive = (name, given) => {
  const number = Number(given)
  if (!(number > 0 && number <= 600))
    throw new UsageError(`--${name} takes a number up to 600, not '${given}'`)
  return number
}
