import { parseOptions, UsageError, wholeNumber } from '../command-line.mjs'
import { KINDS } from './kinds.mjs'

const MOST = 999_999_999
const KIND_NAMES = Object.keys(KINDS)
const SWITCH = ['on', 'off']
const DEFAULTS = { waits: 100_000, seed: 1, kind: 'lock' }

export const USAGE = `Usage: npm run test:abandoned -- [options]

  --waits N     calls for a lock, most of which end before they have it   (${DEFAULTS.waits})
  --seed S      whole number; decides who wants what, and when it ends    (${DEFAULTS.seed})
  --kind NAME   ${KIND_NAMES.join(', ').padEnd(58)}(${DEFAULTS.kind})
  --passing X   on or off: locks go from caller to caller in memory       (on)
  --help

Exit code: 0 nothing was left behind, 1 something was, 2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const text = { type: 'string' }
  const { kind, passing, help, ...numbers } = parseOptions(args, {
    waits: text,
    seed: text,
    kind: { ...text, default: DEFAULTS.kind },
    passing: { ...text, default: 'on' },
    help: { type: 'boolean', default: false },
  })
  if (!KIND_NAMES.includes(kind)) {
    throw new UsageError(`--kind takes ${KIND_NAMES.join(', ')}, not '${kind}'`)
  }
  if (!SWITCH.includes(passing)) throw new UsageError(`--passing takes on or off, not '${passing}'`)
  const count = (name) =>
    numbers[name] === undefined ? DEFAULTS[name] : wholeNumber(name, numbers[name], MOST)
  return { waits: count('waits'), seed: count('seed'), kind, passing: passing === 'on', help }
}
