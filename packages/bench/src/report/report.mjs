import { SCENARIOS } from '../scenarios/index.mjs'
import { BARS_HEAD, barRows } from './bars.mjs'
import { markdown } from './table.mjs'

const facts = ({ machine, redis, versions, load, seconds, options }) =>
  [
    `Node ${machine.node}, ioredis ${machine.ioredis}, ${redis}; ${machine.cpu}, ${machine.cpus} CPUs, ${machine.system}.`,
    `${Object.entries(versions)
      .map(([name, version]) => `${name} ${version ?? '(not installed)'}`)
      .join(', ')}.`,
    `One run of ${Math.round(seconds)} s, \`npm run bench${options}\`; load average ${load.before} before, ${load.after} after.`,
  ].join(' ')

const missingOf = ({ missing }) =>
  missing.map(({ name, reason }) => `Left out: ${name} does not load on this Node: ${reason}`)

const measuredIn = (run) => SCENARIOS.filter(({ id }) => run.scenarios[id] !== undefined)

// In a page plots say more than tables: a run prints the tables.
const sectionOf = (scenario, result, plotsIn) => {
  const charts = plotsIn === undefined ? [] : scenario.charts(result)
  const tables = charts.length > 0 ? [] : scenario.tables(result)
  return [
    `### ${scenario.title}`,
    ...tables.flatMap((table) => [`**${table.title}.**`, markdown(table)]),
    ...charts.map(({ title, file }) => `![${title}](${plotsIn}/${file})`),
  ]
}

/**
 * The run for people, as Markdown.
 *
 * @param {object} run
 * @param {string} [plotsIn] folder of the plots, where they stand in the place of their tables
 */
export const report = (run, plotsIn) =>
  [
    facts(run),
    ...missingOf(run),
    ...(run.bars.length === 0
      ? []
      : ['### The bars', markdown({ head: BARS_HEAD, rows: barRows(run.bars) })]),
    ...measuredIn(run).flatMap((scenario) => sectionOf(scenario, run.scenarios[scenario.id], plotsIn)),
  ].join('\n\n')

/** Every chart of a run. */
export const chartsOf = (run) =>
  measuredIn(run).flatMap((scenario) => scenario.charts(run.scenarios[scenario.id]))
