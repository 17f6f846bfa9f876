import { parseOptions, UsageError, wholeNumber } from '../command-line.mjs'

const MOST = 999_999_999
const CLIENTS = ['ioredis6', 'ioredis5']
const SWITCH = ['off', 'on']
const DEFAULTS = { operations: 10_000, seed: 1 }

export const USAGE = `Usage: npm run test:replay -- [options]

  --operations N        acquires, re-entries, releases and renewals      (${DEFAULTS.operations})
  --seed S              whole number; decides what is done and broken    (${DEFAULTS.seed})
  --client NAME         ${CLIENTS.join(' or ')}                              (one after the other)
  --auto-pipelining X   ${SWITCH.join(' or ')}                                        (one after the other)
  --help

Exit code: 0 Redis was always as its owners were told, 1 it was not, 2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const text = { type: 'string' }
  const values = parseOptions(args, {
    operations: text,
    seed: text,
    client: text,
    'auto-pipelining': text,
    help: { type: 'boolean', default: false },
  })
  const count = (name) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], MOST)
  const clients = oneOrAll('client', values.client, CLIENTS)
  const switches = oneOrAll('auto-pipelining', values['auto-pipelining'], SWITCH)
  return {
    operations: count('operations'),
    seed: count('seed'),
    combinations: clients.flatMap((client) =>
      switches.map((each) => ({ client, autoPipelining: each === 'on' })),
    ),
    help: values.help,
  }
}

const oneOrAll = (name, given, all) => {
  if (given === undefined) return all
  if (!all.includes(given)) throw new UsageError(`--${name} takes ${all.join(' or ')}, not '${given}'`)
  return [given]
}
