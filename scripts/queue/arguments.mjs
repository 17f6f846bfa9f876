import { parseOptions, UsageError, wholeNumber } from '../command-line.mjs'
import { STRATEGIES } from './strategies.mjs'

const MOST = 999_999
const DEFAULTS = { jobs: 1_000, resources: 10, processes: 4, concurrency: 5, work: 5, seed: 1 }
const NAMES = Object.keys(STRATEGIES)

export const USAGE = `Usage: npm run test:queue -- [options]

  --jobs N          in all                                          (${DEFAULTS.jobs})
  --resources N     that they share, one each, at random            (${DEFAULTS.resources})
  --processes N     with one worker each                            (${DEFAULTS.processes})
  --concurrency N   jobs of one worker at a time                    (${DEFAULTS.concurrency})
  --work MS         what a job takes                                (${DEFAULTS.work})
  --seed S          whole number; decides who needs what            (${DEFAULTS.seed})
  --only LIST       of ${NAMES.join(', ')}
  --json            what was measured, as JSON
  --help

Exit code: 0 all jobs were done, with locks never two at once on a resource, and no attempt was used up but where the
strategy is to fail; 1 otherwise, 2 the arguments are wrong.`

/** @param {string[]} args */
export const parseArguments = (args) => {
  const [text, flag] = [{ type: 'string' }, { type: 'boolean', default: false }]
  const names = [...Object.keys(DEFAULTS), 'only']
  const values = parseOptions(args, {
    ...Object.fromEntries(names.map((name) => [name, text])),
    ...{ json: flag, help: flag },
  })
  const count = (name, least) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], MOST, least)
  const only = values.only?.split(',') ?? NAMES
  const unknown = only.filter((name) => !NAMES.includes(name))
  if (unknown.length > 0)
    throw new UsageError(`--only knows no '${unknown.join("', '")}', only ${NAMES.join(', ')}`)
  return {
    ...{ jobs: count('jobs'), resources: count('resources'), processes: count('processes', 2) },
    ...{ concurrency: count('concurrency'), workMs: count('work'), seed: count('seed') },
    ...{ only, json: values.json, help: values.help },
  }
}
