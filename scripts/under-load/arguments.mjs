import { parseOptions, UsageError, wholeNumber } from '../command-line.mjs'
import { SCENARIOS } from './scenarios.mjs'

const NAMES = Object.keys(SCENARIOS)
const DEFAULTS = { rounds: 3, locks: 12, flows: 24, held: 10_000 }

export const USAGE = `Usage: npm run test:under-load -- [options]

  --only NAME   one scenario; may be given again
                ${NAMES.join(', ')}
  --rounds N    times each of them                                        (${DEFAULTS.rounds})
  --locks N     locks that are contended for, all over the slots          (${DEFAULTS.locks})
  --flows N     callers of two clients, each takes lock after lock        (${DEFAULTS.flows})
  --held N      locks of one client whose renewal on a cluster is
                measured; 0: it is not                                    (${DEFAULTS.held})
  --json        what was measured, as JSON
  --help

Exit code: 0 as promised, 1 something was granted that should not have been, or somebody was stuck,
2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const text = { type: 'string' }
  const values = parseOptions(args, {
    ...{ rounds: text, locks: text, flows: text, held: text },
    only: { type: 'string', multiple: true, default: NAMES },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  })
  const unknown = values.only.find((name) => !NAMES.includes(name))
  if (unknown !== undefined) throw new UsageError(`--only takes one of ${NAMES.join(', ')}, not '${unknown}'`)
  const number = (name, most) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], most)
  return {
    only: values.only,
    rounds: number('rounds', 100),
    locks: number('locks', 1_000),
    flows: number('flows', 1_000),
    held: values.held === '0' ? 0 : number('held', 100_000),
    json: values.json,
    help: values.help,
  }
}
