// The contract suites on the servers that registries ship: Redis 6.2 to 8.6, Valkey 8 and 9.
import { interruption } from './interruption.mjs'
import { runCommand } from './run-command.mjs'
import { nameOf, parseArguments, USAGE } from './servers/arguments.mjs'
import { planOf, runOnCluster, runOnOneServer } from './servers/run-on-server.mjs'
import { programPath, serverBinary } from './servers/server-binary.mjs'
import { cacheFolder } from './support/cache.mjs'
import { cellOf, printCells } from './support/cell.mjs'
import { existsSync } from 'node:fs'

const interrupted = interruption()
const log = (line) => console.error(line)

const titleOf = ({ family, version }) => `${family === 'redis' ? 'Redis' : 'Valkey'} ${version}`

const list = (servers, smoke) => {
  for (const server of servers) {
    const { single, cluster } = planOf(nameOf(server), smoke)
    const place = existsSync(programPath(server, cacheFolder())) ? 'in the cache' : 'to be fetched'
    const onCluster = cluster ? `, ${cluster} on a cluster` : ''
    console.log(
      `${nameOf(server).padEnd(10)} ${titleOf(server)}, ${place}: ${single} on one server${onCluster}`,
    )
  }
  return true
}

/** @returns {Promise<Record<string, import('./support/cell.mjs').Cell>>} */
const cellsOf = async (server, smoke) => {
  const name = nameOf(server)
  const plan = planOf(name, smoke)
  const found = await serverBinary(server.family, server.release, { log })
  if (found.reason !== undefined) {
    const missing = { state: 'missing', said: found.reason }
    return { single: missing, ...(plan.cluster ? { cluster: missing } : {}) }
  }
  const run = { single: runOnOneServer, cluster: runOnCluster }
  const cells = {}
  for (const [column, extent] of Object.entries(plan).filter(([, each]) => each !== undefined)) {
    log(`${name}: ${extent} on ${column === 'single' ? 'one server' : 'a cluster of three primaries'}`)
    const outcome = await run[column](name, found.path, extent, interrupted)
    outcome.failures.forEach((each) => log(`${name}: ${each}`))
    cells[column] = cellOf(outcome, extent)
  }
  return cells
}

await runCommand({
  ...{ parseArguments, USAGE },
  run: async ({ servers, smoke, list: isList }) => {
    if (isList) return list(servers, smoke)
    let held = true
    for (const server of servers) held = printCells(titleOf(server), await cellsOf(server, smoke)) && held
    return held
  },
})
