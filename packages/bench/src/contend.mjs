import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

/** Flows that have not come to an end by then are left alone: some libraries lose a wake-up and wait for a lease. */
const PATIENCE_MS = 700

const hold = (holdMs, leavesTurn) => {
  if (leavesTurn) return () => nextTurn()
  return holdMs > 0 ? () => sleep(holdMs) : undefined
}

/**
 * Flows that all want one lock, for so long. A pass is a pair after one of another flow: the lock has changed hands.
 *
 * @param {((during?: () => Promise<unknown>) => Promise<unknown>)[]} flows
 * @param {{ ms: number, holdMs: number, leavesTurn?: boolean }} how `leavesTurn`: holds it for a turn of the event loop
 */
export const contend = async (flows, { ms, holdMs, leavesTurn }) => {
  const during = hold(holdMs, leavesTurn)
  const counts = { pairs: 0, passes: 0, gaveUp: 0, together: 0, stuck: flows.length }
  let latest
  const pairsOf = flows.map(() => 0)
  let longestWaitMs = 0
  let inside = 0
  let over = false
  const work = async (askedAt, i) => {
    if (latest !== i && !over) counts.passes += 1
    latest = i
    longestWaitMs = Math.max(longestWaitMs, performance.now() - askedAt)
    inside += 1
    if (inside > 1) counts.together += 1
    await during?.()
    inside -= 1
  }
  const cpuBefore = process.cpuUsage()
  const all = flows.map(async (pair, i) => {
    while (!over) {
      try {
        const askedAt = performance.now()
        await pair(() => work(askedAt, i))
        if (!over) {
          counts.pairs += 1
          pairsOf[i] += 1
        }
      } catch {
        counts.gaveUp += 1
        await nextTurn() // one that fails at once shall not keep the others from ending
      }
    }
    counts.stuck -= 1
  })
  await sleep(ms)
  over = true
  const { user, system } = process.cpuUsage(cpuBefore)
  const found = { pairsOf: [...pairsOf], longestWaitMs }
  await Promise.race([Promise.all(all), sleep(PATIENCE_MS)])
  return { ...counts, ...found, elapsedMs: ms, cpuMicros: user + system }
}
