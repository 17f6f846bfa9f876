// Processes hand locks to each other through waits while messages get lost, and every wait is measured: none may
// take longer than without faults and one resync. How to read the verdict: docs/reliability.md.
import { FaultProxy, RedisServer, WorkerProcess } from '@holdfast/testing'
import { Redis } from 'ioredis'
import { UsageError } from './command-line.mjs'
import { interruption } from './interruption.mjs'
import { provideServerProgram } from './redis/server-program.mjs'
import { parseArguments, USAGE } from './wake-ups/arguments.mjs'
import { phasesOf, runPhase } from './wake-ups/phases.mjs'
import { verdict } from './wake-ups/verdict.mjs'

const WORKER = new URL('./wake-ups/worker.mjs', import.meta.url)
const log = (line) => console.error(line)
const interrupted = interruption()

const main = async (wanted) => {
  const program = await provideServerProgram({ log })
  process.env.PATH = program.path
  const server = await RedisServer.start()
  const proxy = await FaultProxy.start(server)
  const admin = new Redis(server.url)
  const workers = []
  try {
    for (let i = 0; i < wanted.processes; i += 1) workers.push(await WorkerProcess.start(WORKER))
    return verdict(await measure(wanted, { server, proxy, admin, workers }), wanted)
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()))
    admin.disconnect()
    await proxy.stop()
    await server.stop()
    await program.remove()
  }
}

const measure = async (wanted, parts) => {
  const startedAt = performance.now()
  const onProgress = ({ name, waits }, done) => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000)
    log(`${seconds} s  ${name}: ${done} of ${waits} hand-offs`)
  }
  const results = []
  for (const phase of phasesOf(wanted)) {
    results.push(await runPhase(phase, { ...parts, wanted, interrupted, onProgress }))
  }
  return results
}

try {
  const wanted = parseArguments(process.argv.slice(2))
  if (wanted.help) {
    console.log(USAGE)
  } else {
    log(`seed ${wanted.seed}, ${wanted.processes} processes, ${wanted.locks} locks`)
    const { text, violations } = await main(wanted)
    console.log(text)
    if (violations.length > 0) process.exitCode ||= 1
  }
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error)
  process.exitCode ||= error instanceof UsageError ? 2 : 1
}
