import { parseOptions, wholeNumber } from '../command-line.mjs'

const DEFAULTS = { rounds: 20, locks: 5, lease: 1_500, allowance: 250 }

export const USAGE = `Usage: npm run test:failover -- [options]

  --rounds N       fail-overs of a primary whose replica gets nothing        (${DEFAULTS.rounds})
  --locks N        locks that are lost in each, and as many that are not     (${DEFAULTS.locks})
  --lease MS       how long a lock lasts without renewal, ms                 (${DEFAULTS.lease})
  --allowance MS   how much later than a third of a lease a holder may be
                   told: to connect again, and for a retry                   (${DEFAULTS.allowance})
  --help

Afterwards the clock of a Redis is set forward and back while locks are held and others wait, if the program 'faketime'
is installed (Debian and Ubuntu: apt-get install faketime; it is installed for root).

Exit code: 0 as promised, 1 a loss was reported too late or never, or a lock was lost that should not have been,
2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const text = { type: 'string' }
  const values = parseOptions(args, {
    rounds: text,
    locks: text,
    lease: text,
    allowance: text,
    help: { type: 'boolean', default: false },
  })
  const number = (name, most) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], most)
  return {
    rounds: number('rounds', 1_000),
    locks: number('locks', 1_000),
    leaseMs: number('lease', 60_000),
    allowanceMs: number('allowance', 60_000),
    help: values.help,
  }
}
