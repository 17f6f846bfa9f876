// The packed packages on the runtimes that npm ships, and the unit tests on those that are newer than the oldest.
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runSuites } from '@holdfast/faults/harness'
import { interruption } from '../interruption.mjs'
import { provideRedis } from '../redis/provide-redis.mjs'
import { runCommand } from '../run-command.mjs'
import { parseArguments, USAGE } from './arguments.mjs'
import { runtimeProgram } from './runtime-program.mjs'
import { smokeOn, userProject } from './user-project.mjs'
import { cellOf, printCells } from '../support/cell.mjs'

const interrupted = interruption()
const log = (line) => console.error(line)

const WITH_UNIT_TESTS = ['node-24', 'node-26']
const hasUnitTests = ({ name }, smoke) => !smoke && WITH_UNIT_TESTS.includes(name)
const titleOf = ({ title, version }) => `${title} ${version}`

const cellsOf = async (runtime, smoke, project) => {
  const found = await runtimeProgram(runtime, { log })
  const withUnit = hasUnitTests(runtime, smoke)
  if (found.reason !== undefined) {
    const missing = { state: 'missing', said: found.reason }
    return { smoke: missing, ...(withUnit ? { unit: missing } : {}) }
  }
  log(`${runtime.name}: every entry`)
  const outcomes = { smoke: await smokeOn(await project(), { path: found.path, run: runtime.run }) }
  if (withUnit) {
    log(`${runtime.name}: unit tests`)
    const wanted = { projects: ['unit'], suites: [], program: found.path, interrupted }
    outcomes.unit = await runSuites(wanted)
  }
  const cells = {}
  for (const [column, outcome] of Object.entries(outcomes)) {
    outcome.failures.forEach((each) => log(`${runtime.name}: ${each}`))
    cells[column] = cellOf(
      outcome,
      column === 'unit' ? 'all' : 'ioredis 6 and node-redis 6',
      column === 'unit',
    )
  }
  return cells
}

const withProject = async (use) => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-runtimes-')))
  let redis
  let made
  const project = async () => {
    redis ??= await provideRedis({ log: (line) => log(`redis: ${line}`) })
    made ??= await userProject(folder, { redisUrl: redis.url, signal: interrupted })
    return made
  }
  try {
    return await use(project)
  } finally {
    await redis?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

await runCommand({
  ...{ parseArguments, USAGE },
  run: async ({ runtimes, smoke, list }) => {
    if (list) {
      for (const runtime of runtimes) {
        const unit = hasUnitTests(runtime, smoke) ? ', unit tests' : ''
        console.log(`${runtime.name.padEnd(8)} ${titleOf(runtime)}: every entry${unit}`)
      }
      return true
    }
    return withProject(async (project) => {
      let held = true
      for (const runtime of runtimes) {
        held = printCells(titleOf(runtime), await cellsOf(runtime, smoke, project)) && held
      }
      return held
    })
  },
})
