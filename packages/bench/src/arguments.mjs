import { parseOptions, UsageError, wholeNumber } from '../../../scripts/command-line.mjs'

const MOST = 9_999_999
const DEFAULTS = { rounds: 9, ms: 600, flows: 100 }
// Counts need no duration: a smoke run does this many pairs per flow and is done.
const SMOKE = { rounds: 1, ms: 0, flows: 10 }

export const USAGE = `Usage: npm run bench -- [options]

  --rounds N    measured rounds, after one round of warm-up      (${DEFAULTS.rounds})
  --ms N        duration of one contestant in one round, ms      (${DEFAULTS.ms})
  --flows N     parallel flows, each with a lock of its own      (${DEFAULTS.flows})
  --only TEXTS  only the contestants that have one of these texts, separated by commas, in "setting: name", as in
                --only 'off: raw,off: holdfast'. Who runs beside whom matters: no figures for docs/performance.md
  --json FILE   writes everything that was measured as JSON
  --smoke       measures nothing; checks that every contestant locks and unlocks, by Redis's own counts.
                Nobody else may use the Redis meanwhile.
  --help`

/**
 * @param {string[]} args
 * @returns {{ rounds: number, ms: number, flows: number, only: string[], json: string | undefined,
 *   smoke: boolean, help: boolean }}
 * @throws {UsageError}
 */
export const parseArguments = (args) => {
  const text = { type: 'string' }
  const flag = { type: 'boolean', default: false }
  const values = parseOptions(args, {
    rounds: text,
    ms: text,
    flows: text,
    only: text,
    json: text,
    smoke: flag,
    help: flag,
  })
  const defaults = values.smoke ? SMOKE : DEFAULTS
  const count = (name) =>
    values[name] === undefined ? defaults[name] : wholeNumber(name, values[name], MOST)
  if (values.smoke && (values.rounds !== undefined || values.ms !== undefined)) {
    throw new UsageError('--smoke counts and measures nothing: --rounds and --ms have no meaning with it')
  }
  const { json, smoke, help } = values
  const only = (values.only ?? '').split(',').map((text) => text.trim().toLowerCase())
  return { rounds: count('rounds'), ms: count('ms'), flows: count('flows'), only, json, smoke, help }
}
