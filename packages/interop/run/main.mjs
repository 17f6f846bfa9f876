// Holdfast beside the real Redisson on one Redis. Needs a JDK 17 and Maven; without them it says so and skips.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { outcomeOf } from '@holdfast/faults/harness'
import { parseArguments, USAGE } from './arguments.mjs'
import { builtDriver } from './driver.mjs'
import { lacksOf } from './versions.mjs'
import { interruption } from '../../../scripts/interruption.mjs'
import { withServerProgram } from '../../../scripts/redis/server-program.mjs'
import { runCommand } from '../../../scripts/run-command.mjs'
import { NotAvailable } from '../../../scripts/support/cache.mjs'
import { cellOf } from '../../../scripts/support/cell.mjs'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const TESTS = 'packages/interop/test'
/** A NameMapper changes the names of keys and channels. */
const MAPPED = ['names', 'locks', 'semaphore']
const PREFIX = 'service:'
const JEST = ['node_modules/jest/bin/jest.js', '-c', 'packages/interop/jest.config.js', '-i', '--json']

const interrupted = interruption()

/** Runs test files, one after the other, with all that they print. @returns what came of them */
const runTests = async (files, setting, forJest) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-interop-'))
  const report = join(folder, 'report.json')
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
  try {
    const child = spawn(process.execPath, [...flags, ...JEST, '--outputFile', report, ...files, ...forJest], {
      cwd: ROOT,
      stdio: 'inherit',
      env: { ...process.env, HOLDFAST_INTEROP: JSON.stringify(setting) },
      signal: interrupted,
    })
    await once(child, 'close')
    return outcomeOf(await readFile(report, 'utf8'))
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** @returns {Promise<import('../../../scripts/support/cell.mjs').Cell>} */
const cellWith = async (version, classPath, column, { mode, contentionMs, files, forJest }) => {
  const isMapped = column === 'mapped'
  const { said, ...lacks } = lacksOf(version)
  const setting = { mode, contentionMs, classPath, ...lacks, ...(isMapped ? { prefix: PREFIX } : {}) }
  const mapped = isMapped ? MAPPED.map((name) => `${TESTS}/${name}.test.ts`) : []
  const outcome = await runTests(files.length > 0 ? files : mapped, setting, forJest)
  return cellOf(outcome, `every kind${said(isMapped)}`)
}

const cellsOf = async (version, wanted) => {
  const { columns } = wanted
  try {
    const classPath = await builtDriver(version)
    const cells = {}
    for (const column of columns) cells[column] = await cellWith(version, classPath, column, wanted)
    return cells
  } catch (error) {
    if (!(error instanceof NotAvailable)) throw error
    return Object.fromEntries(columns.map((column) => [column, { state: 'missing', said: error.message }]))
  }
}

const run = async (wanted) => {
  let held = true
  for (const version of wanted.versions) {
    for (const [column, { state, said }] of Object.entries(await cellsOf(version, wanted))) {
      const what = `interop: Redisson ${version}${column === 'mapped' ? ' with a NameMapper' : ''}`
      console.log(`${what}: ${state === 'missing' ? 'skipped' : state}, ${said}`)
      held &&= state !== 'failed'
    }
  }
  return held
}

await runCommand({ parseArguments, USAGE, run: (wanted) => withServerProgram(() => run(wanted)) })
