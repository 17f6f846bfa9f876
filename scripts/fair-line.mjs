// The line of a fair lock, with callers of several processes in it: served in the order in which they came, whoever
// dies or leaves, at a cost that does not grow with the line. docs/fair-lock.md has the figures.
import { UsageError } from './command-line.mjs'
import { parseArguments, USAGE } from './fair-line/arguments.mjs'
import { cost } from './fair-line/cost.mjs'
import { deaths } from './fair-line/deaths.mjs'
import { order } from './fair-line/order.mjs'
import { report } from './fair-line/report.mjs'
import { interruption } from './interruption.mjs'
import { provideServerProgram } from './redis/server-program.mjs'

const log = (line) => console.error(line)
const interrupted = interruption()

const main = async (wanted) => {
  const program = await provideServerProgram({ log })
  process.env.PATH = program.path
  try {
    log(`seed ${wanted.seed}, ${wanted.waiters} waiters from ${wanted.processes} processes`)
    const inOrder = await order(wanted, interrupted)
    log(`${wanted.waiters} waiters from ${wanted.small} processes, a fifth of them dies or leaves`)
    const withDeaths = await deaths(wanted, interrupted)
    return { order: inOrder, deaths: withDeaths, cost: await cost(wanted, { interrupted, log }) }
  } finally {
    await program.remove()
  }
}

try {
  const wanted = parseArguments(process.argv.slice(2))
  if (wanted.help) {
    console.log(USAGE)
  } else {
    const result = await main(wanted)
    console.log(wanted.json ? JSON.stringify(result) : report(result))
    if (Object.values(result).some(({ problems }) => problems.length > 0)) process.exitCode ||= 1
  }
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error)
  process.exitCode ||= error instanceof UsageError ? 2 : 1
}
