// Processes hand locks to each other through waits while messages get lost, and every wait is measured: none may
// take longer than without faults and one resync. How to read the verdict: docs/reliability.md.
import { FaultProxy, RedisServer, WorkerProcess } from '@holdfast/testing'
import { Redis } from 'ioredis'
import { interruption } from './interruption.mjs'
import { parseArguments, USAGE } from './wake-ups/arguments.mjs'
import { phasesOf, runPhase } from './wake-ups/phases.mjs'
import { verdict } from './wake-ups/verdict.mjs'
import { runScript } from './script-main.mjs'

const WORKER = new URL('./wake-ups/worker.mjs', import.meta.url)
const log = (line) => console.error(line)
const interrupted = interruption()

const handOver = async (wanted) => {
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

await runScript({
  ...{ parseArguments, USAGE },
  heading: ({ seed, processes, locks }) => `seed ${seed}, ${processes} processes, ${locks} locks`,
  run: async (wanted) => {
    const { text, violations } = await handOver(wanted)
    console.log(text)
    return violations.length === 0
  },
})
