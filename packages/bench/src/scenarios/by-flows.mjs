import { withCells } from '../cells.mjs'
import { best, measured } from '../comparison.mjs'
import { SETTINGS } from '../contestants/index.mjs'
import { holdfastLock, holdfastWithLock } from '../contestants/holdfast.mjs'
import { redisSemaphore } from '../contestants/redis-semaphore.mjs'
import { redlock4 } from '../contestants/redlock4.mjs'
import { measure, warmUp } from '../measure.mjs'
import { MAJORS, nodeProgram } from '../reference-node.mjs'
import { lines } from '../report/charts.mjs'
import { decimals, thousands } from '../report/table.mjs'
import { interleaved } from '../rounds.mjs'

const AT_MOST_MS = 400_000
/** The fastest of all in the scenario `uncontended`, each in both settings. */
const NAMES = [holdfastLock, holdfastWithLock, redisSemaphore, redlock4].map(({ name }) => name)
const settings = SETTINGS.filter(({ id }) => id !== 'default').map((setting) => ({
  ...setting,
  contestants: setting.contestants.filter(
    ({ name, kind }) => NAMES.includes(name) && (kind === 'peer' || setting.id === 'off'),
  ),
}))

/** Pairs per second of the best peer's, by flows: what is asked for. */
const LEAST = {
  1: 0.92,
  2: 0.92,
  4: 0.92,
  10: 0.75,
  16: 1.1,
  24: 1.1,
  32: 1.1,
  50: 1.1,
  100: 1.8,
  1_000: 1.8,
}

/** From one flow to a thousand, on the Node that this process runs on; and on other versions with few and with many. */
export const byFlows = {
  id: 'by-flows',
  title: 'Uncontended: from one flow to a thousand',
  full: {
    warmUpMs: 1_000,
    rounds: 7,
    ms: 200,
    flows: [1, 2, 4, 10, 16, 24, 32, 50, 100, 1_000],
    nodes: MAJORS,
    nodeFlows: [10, 100],
  },
  small: { warmUpMs: 1, rounds: 1, ms: 1, flows: [2], nodes: [], nodeFlows: [] },

  async run(context, params) {
    const here = await onNode(context, { ...params, node: process.version, execPath: process.execPath })
    const results = [...here]
    for (const major of params.nodes.filter((each) => !process.version.startsWith(`v${each}.`))) {
      const program = await nodeProgram(major, context.log)
      if ('reason' in program) {
        context.leaveOut(`Node ${major}`, program.reason)
        continue
      }
      const { path: execPath, version: node } = program
      results.push(...(await onNode(context, { ...params, node, execPath, flows: params.nodeFlows })))
    }
    return { node: process.version, results }
  },

  problems: ({ results }) =>
    results.flatMap(({ node, setting, name, flows, failure }) =>
      failure ? [`${name} (${setting}), ${flows} flows on Node ${node}: ${failure}`] : [],
    ),

  bars: ({ node, results }) =>
    flowsIn(results, node).flatMap((flows) => {
      const all = measured(results).filter((each) => each.node === node && each.flows === flows)
      const peer = best(
        all.filter(({ kind }) => kind === 'peer'),
        (each) => -speed(each),
      )
      const ours = all.filter(({ kind }) => kind === 'holdfast')
      // With few flows `withLock` is told in the table.
      const judged = ours.filter(({ name }) => name === holdfastLock.name || flows >= 100)
      return peer === undefined
        ? []
        : judged.map((each) => ({
            text: `${flows} ${flows === 1 ? 'flow' : 'flows'}, ${each.name}: pairs/s, of ${peer.name} (${peer.setting}), the best peer`,
            value: speed(each) / speed(peer),
            least: LEAST[flows],
          }))
    }),

  tables: ({ results }) =>
    nodesIn(results).map((node) => {
      const counts = flowsIn(results, node)
      const here = measured(results).filter((each) => each.node === node)
      const cell = (row, flows, show) => {
        const found = here.find((each) => rowOf(each) === row && each.flows === flows)
        return found ? show(found) : ''
      }
      const rows = [...new Set(here.map(rowOf))]
      return {
        title: `Node ${node}: pairs/s by flows, and the slowest round of the median`,
        head: ['contestant', ...counts.map(String)],
        rows: rows.map((row) => [
          row,
          ...counts.map((flows) =>
            cell(
              row,
              flows,
              (each) => `${thousands(speed(each))} (${decimals(each.pairsPerSecond.min / speed(each), 2)})`,
            ),
          ),
        ]),
      }
    }),

  charts: ({ node, results }) => [
    lines({
      file: 'by-flows.svg',
      title: `Lock and unlock, Node ${node}: pairs per second by flows`,
      x: 'flows',
      y: 'pairs/s',
      series: [...new Set(results.map(rowOf))].map((row) => ({
        name: row,
        points: measured(results)
          .filter((each) => each.node === node && rowOf(each) === row)
          .map((each) => [each.flows, speed(each)])
          .sort(([a], [b]) => a - b),
      })),
    }),
  ],
}

const speed = ({ pairsPerSecond }) => pairsPerSecond.median
const rowOf = ({ name, kind, setting }) => (kind === 'peer' ? `${name} (${setting})` : name)
const nodesIn = (results) => [...new Set(results.map(({ node }) => node))]
const flowsIn = (results, node) =>
  [...new Set(results.filter((each) => each.node === node).map(({ flows }) => flows))].sort((a, b) => a - b)

const onNode = (context, { node, execPath, flows: counts, rounds, ms, warmUpMs }) => {
  const what = {
    scenario: `flows-${node}`,
    settings,
    flows: Math.max(...counts),
    atMostMs: AT_MOST_MS,
    execPath,
  }
  return withCells(context, what, async (cells) => {
    await warmUp(cells, { flows: Math.min(100, Math.max(...counts)), ms: warmUpMs }, context)
    const results = []
    for (const flows of counts) {
      const turn = (cell) => measure(cell, { flows, ms }, context)
      const how = { rounds, what: `${flows} flows on Node ${node}` }
      const figures = await interleaved(cells, turn, how, context)
      results.push(
        ...cells.map(({ setting, name, kind }, i) => ({ node, setting, name, kind, flows, ...figures[i] })),
      )
    }
    return results
  })
}
