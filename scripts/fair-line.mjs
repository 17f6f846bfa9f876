// The line of a fair lock, with callers of several processes in it: served in the order in which they came, whoever
// dies or leaves, at a cost that does not grow with the line. docs/fair-lock.md has the figures.
import { parseArguments, USAGE } from './fair-line/arguments.mjs'
import { cost } from './fair-line/cost.mjs'
import { deaths } from './fair-line/deaths.mjs'
import { order } from './fair-line/order.mjs'
import { report } from './fair-line/report.mjs'
import { interruption } from './interruption.mjs'
import { runScript } from './script-main.mjs'

const log = (line) => console.error(line)
const interrupted = interruption()

const standInLine = async (wanted) => {
  log(`seed ${wanted.seed}, ${wanted.waiters} waiters from ${wanted.processes} processes`)
  const inOrder = await order(wanted, interrupted)
  log(`${wanted.waiters} waiters from ${wanted.small} processes, a fifth of them dies or leaves`)
  const withDeaths = await deaths(wanted, interrupted)
  return { order: inOrder, deaths: withDeaths, cost: await cost(wanted, { interrupted, log }) }
}

await runScript({
  ...{ parseArguments, USAGE },
  run: async (wanted) => {
    const result = await standInLine(wanted)
    console.log(wanted.json ? JSON.stringify(result) : report(result))
    return Object.values(result).every(({ problems }) => problems.length === 0)
  },
})
