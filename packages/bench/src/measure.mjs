import { performance } from 'node:perf_hooks'
import { collectGarbage } from './garbage.mjs'

// A collection makes V8's young generation small again. Until it has grown back, a turn would measure that.
const LEAD_IN_MS = 300

/**
 * Lets flows of a cell lock and unlock for `ms` milliseconds.
 *
 * @param {(() => Promise<unknown>)[]} flows
 * @param {{ ms: number, info: import('./redis-info.mjs').RedisInfo, signal: AbortSignal }} how
 */
export const measure = async (flows, { ms, info, signal }) => {
  collectGarbage()
  await runFor(flows, Math.min(LEAD_IN_MS, ms), signal)
  const redisBefore = await info.cpuMicros()
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  const pairs = await runFor(flows, ms, signal)
  const elapsedMs = performance.now() - startedAt
  const cpu = process.cpuUsage(cpuBefore)
  const redisMicros = (await info.cpuMicros()) - redisBefore
  return {
    pairs,
    pairsPerSecond: (pairs * 1000) / elapsedMs,
    clientMicros: (cpu.user + cpu.system) / pairs,
    redisMicros: redisMicros / pairs,
  }
}

/** @returns {Promise<number>} the pairs that were done */
const runFor = async (flows, ms, signal) => {
  let over = false
  let pairs = 0
  const stop = () => (over = true)
  const timer = setTimeout(stop, ms)
  signal.addEventListener('abort', stop)
  try {
    await Promise.all(
      flows.map(async (pair) => {
        do {
          await pair()
          pairs += 1
        } while (!over)
      }),
    )
    return pairs
  } finally {
    // A flow that failed ends the others too.
    stop()
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}
