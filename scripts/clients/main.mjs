// Every test with every client; or, for docs/support.md, what each client has to carry on each topology.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { CLIENTS } from './catalog.mjs'
import { parseArguments, USAGE } from './arguments.mjs'
import { runOn } from './run-on-topology.mjs'
import { interruption } from '../interruption.mjs'
import { runCommand } from '../run-command.mjs'
import { withServerProgram } from '../redis/server-program.mjs'
import { cellOf, printCells } from '../support/cell.mjs'

const interrupted = interruption()
const log = (line) => console.error(line)

/** The tests of `npm test`, with the projects of all clients. */
const runAll = async (forJest) => {
  const isChosen = forJest.some((each) => each.startsWith('--selectProjects'))
  const projects = isChosen ? [] : ['--selectProjects', ...CLIENTS.map(({ name }) => name)]
  const program = fileURLToPath(new URL('../run-tests.mjs', import.meta.url))
  const child = spawn(process.execPath, [program, '--every-client', ...projects, ...forJest], {
    stdio: 'inherit',
    signal: interrupted,
  })
  const [code] = await once(child, 'close')
  return code === 0
}

/** With a program for the servers here, and those that suites start. */
const runContract = ({ clients, topologies }) =>
  withServerProgram(async () => {
    let held = true
    for (const client of clients) {
      for (const topology of topologies) {
        log(`${client.name}: ${topology}`)
        const outcome = await runOn(topology, client.name, interrupted)
        outcome.failures.forEach((each) => log(`${client.name}: ${each}`))
        held = printCells(client.title, { [topology]: cellOf(outcome, 'contract') }) && held
      }
    }
    return held
  })

await runCommand({
  ...{ parseArguments, USAGE },
  run: (wanted) => (wanted.isContract ? runContract(wanted) : runAll(wanted.forJest)),
})
