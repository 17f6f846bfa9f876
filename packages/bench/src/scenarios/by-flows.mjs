import { withCells } from '../cells.mjs'
import { fastestPeer, measured, speed } from '../comparison.mjs'
import { earlyBars, fastest } from '../contestants/fastest.mjs'
import { holdfastLock } from '../contestants/holdfast.mjs'
import { roundsOf, warmUp } from '../measure.mjs'
import { MAJORS, nodeProgram } from '../reference-node.mjs'
import { flowsIn, linesByFlows, tableByFlows } from '../report/by-flows.mjs'

const AT_MOST_MS = 600_000

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

/** Those who do not wait for the answer of their release, of those who do. */
const EARLY_OF_DEFAULT = { 1: 1.2, 10: 0.97 }

/** From one flow to a thousand, on the Node that this process runs on; and on other versions with few and with many. */
export const byFlows = {
  id: 'by-flows',
  title: 'Uncontended: from one flow to a thousand',
  full: {
    warmUpMs: 1_000,
    // Between rounds of few flows, which mostly sleep, the kernel's choice of a core makes a factor of two; and of several
    // peers the luckiest is the best, the more so the fewer rounds there are.
    rounds: 15,
    ms: 200,
    leadInMs: 100,
    flows: [1, 2, 4, 10, 16, 24, 32, 50, 100, 1_000],
    nodes: MAJORS,
    nodeFlows: [10, 100],
    nodeRounds: 7,
  },
  small: { warmUpMs: 1, rounds: 1, ms: 1, flows: [2], nodes: [], nodeFlows: [], nodeRounds: 1 },

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
      const { nodeFlows: flows, nodeRounds: rounds } = params
      results.push(...(await onNode(context, { ...params, node, execPath, flows, rounds })))
    }
    return { node: process.version, results }
  },

  problems: ({ results }) =>
    results.flatMap(({ node, setting, name, flows, failure }) =>
      failure ? [`${name} (${setting}), ${flows} flows on Node ${node}: ${failure}`] : [],
    ),

  bars({ node, results }) {
    const here = measured(onThat(results, node))
    return flowsIn(here).flatMap((flows) => {
      const all = here.filter((each) => each.flows === flows)
      const peer = fastestPeer(all)
      const ours = all.filter(({ kind }) => kind === 'holdfast')
      // With few flows `withLock` is told in the table.
      const judged = ours.filter(({ name }) => name === holdfastLock.name || flows >= 100)
      const where = `${flows} ${flows === 1 ? 'flow' : 'flows'}`
      const besidePeer = (each) => ({
        text: `${where}, ${each.name}: pairs/s, of ${peer.name} (${peer.setting}), the best peer`,
        value: speed(each) / speed(peer),
        least: LEAST[flows],
      })
      return [
        ...(peer === undefined ? [] : judged.map(besidePeer)),
        ...earlyBars(all, where, EARLY_OF_DEFAULT[flows]),
      ]
    })
  },

  tables: ({ results }) =>
    nodesIn(results).map((node) => tableByFlows(`Node ${node}`, onThat(results, node))),

  charts: ({ results }) =>
    nodesIn(results).map((node) =>
      linesByFlows(
        {
          file: `by-flows-node-${/\d+/.exec(node)[0]}.svg`,
          title: `Lock and unlock, Node ${node}: pairs per second by flows`,
        },
        onThat(results, node),
      ),
    ),
}

const nodesIn = (results) => [...new Set(results.map(({ node }) => node))]
const onThat = (results, node) => results.filter((each) => each.node === node)

const onNode = (context, { node, execPath, flows: counts, warmUpMs, ...how }) => {
  const most = Math.max(...counts)
  const what = {
    scenario: `flows-${node}`,
    settings: fastest(),
    flows: most,
    atMostMs: AT_MOST_MS,
    execPath,
  }
  return withCells(context, what, async (cells) => {
    await warmUp(cells, { flows: Math.min(100, most), ms: warmUpMs }, context)
    const results = []
    for (const flows of counts) {
      const { rounds, ms, leadInMs } = how
      const found = await roundsOf(cells, { flows, rounds, ms, leadInMs, what: `Node ${node}` }, context)
      results.push(...found.map((each) => ({ node, ...each })))
    }
    return results
  })
}
