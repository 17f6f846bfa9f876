import { parseOptions, requireKnown, UsageError, wholeNumber } from '../../../scripts/command-line.mjs'
import { MAJORS, REFERENCE } from './reference-node.mjs'
import { hasFlows, SCENARIOS } from './scenarios/index.mjs'

const MOST = 9_999_999
const MOST_FLOWS = 10_000
const NAMES = SCENARIOS.map(({ id }) => id)
const BY_FLOWS = SCENARIOS.filter(hasFlows).map(({ id }) => id)

export const USAGE = `Usage: npm run bench -- [options]

  --only NAME         one scenario; may be given again
                      ${NAMES.join(', ')}
  --contestants TEXTS only contestants that have one of these texts, separated by commas, in "setting: name" (uncontended)
                      or "scenario: name", as in --contestants 'off: raw,holdfast'. Who runs beside whom matters: no
                      figures for docs/performance.md
  --flows N,N         how many flows, where a scenario runs several numbers of them: ${BY_FLOWS.join(', ')}
  --rounds N          measured rounds, where a scenario has rounds
  --ms N              duration of one contestant in one round, ms
  --node MAJOR        the Node that all of it runs on: ${MAJORS.join(', ')}; fetched into the cache, nothing is installed
                      (${REFERENCE}; with --smoke and --from this one)
  --json FILE         writes everything that was measured as JSON
  --plots FOLDER      writes the plots (SVG)
  --write-docs        writes tables and plots into docs/performance.md and docs/plots
  --from FILE         measures nothing: reports, plots and writes what --json has written
  --smoke             measures nothing; checks by counts that every scenario works. Seconds.
                      Nobody else may use the Redis meanwhile.
  --help

Exit code: 0, also where a bar is not met: one run on one machine is a hint. 1: somebody could not lock and unlock,
counts are wrong, or keys were left behind. 2: the arguments are wrong.`

const listed = (text = '') =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)

/**
 * @param {string[]} args
 * @returns {{ only: string[], contestants: string[], flows?: number[], rounds?: number, ms?: number, json?: string, plots?: string,
 *   from?: string, node?: string, writeDocs: boolean, smoke: boolean, help: boolean }}
 * @throws {UsageError}
 */
export const parseArguments = (args) => {
  const text = { type: 'string' }
  const flag = { type: 'boolean', default: false }
  const values = parseOptions(args, {
    only: { type: 'string', multiple: true, default: NAMES },
    contestants: text,
    flows: text,
    rounds: text,
    ms: text,
    json: text,
    node: text,
    plots: text,
    'write-docs': flag,
    from: text,
    smoke: flag,
    help: flag,
  })
  requireKnown('only', values.only, NAMES)
  const measuring = ['flows', 'rounds', 'ms', 'plots', 'from'].find((name) => values[name] !== undefined)
  if (values.smoke && (measuring || values['write-docs'])) {
    throw new UsageError(`--smoke measures nothing: --${measuring ?? 'write-docs'} has no meaning with it`)
  }
  const count = (name) =>
    values[name] === undefined ? {} : { [name]: wholeNumber(name, values[name], MOST) }
  const { json, plots, from, smoke, help } = values
  const node = values.node ?? (smoke || from !== undefined ? undefined : REFERENCE)
  if (node !== undefined) requireKnown('node', [node], MAJORS)
  const contestants = listed(values.contestants).map((each) => each.toLowerCase())
  const flows = listed(values.flows).map((each) => wholeNumber('flows', each, MOST_FLOWS))
  return {
    only: values.only,
    contestants,
    ...(flows.length === 0 ? {} : { flows }),
    ...count('rounds'),
    ...count('ms'),
    ...{ json, plots, from, smoke, help, node },
    writeDocs: values['write-docs'],
  }
}
