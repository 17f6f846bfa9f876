import { parseOptions, wholeNumber } from '../command-line.mjs'

const MOST = 999_999_999
const DEFAULTS = { operations: 10_000, processes: 4, callers: 8, seed: 1 }

export const USAGE = `Usage: npm run test:read-write -- [options]

  --operations N   reads and writes in random order                    (${DEFAULTS.operations})
                   a stream of N / 2 reads follows, among which one process writes
  --processes N    worker processes                                    (${DEFAULTS.processes})
  --callers N      callers in each process                             (${DEFAULTS.callers})
  --seed S         whole number; decides who does what                 (${DEFAULTS.seed})
  --no-standing-back
                   readers do not stand back behind writers: for comparison
  --history FILE   keeps the events of the run as JSON lines
  --help

Exit code: 0 nothing was violated, 1 something was, or no two readers were ever inside together,
2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const text = { type: 'string' }
  const flag = { type: 'boolean', default: false }
  const values = parseOptions(args, {
    ...Object.fromEntries([...Object.keys(DEFAULTS), 'history'].map((name) => [name, text])),
    ...{ 'no-standing-back': flag, help: flag },
  })
  const count = (name) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], MOST)
  return {
    operations: count('operations'),
    processes: count('processes'),
    callers: count('callers'),
    seed: count('seed'),
    readersStandBack: !values['no-standing-back'],
    history: values.history,
    help: values.help,
  }
}
