import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

/** Flows that have not come to an end by then are left alone: some libraries lose a wake-up and wait for a lease. */
const PATIENCE_MS = 1_500

const hold = (holdMs) => (holdMs > 0 ? () => sleep(holdMs) : undefined)

/**
 * Flows that all want one lock, for so long.
 *
 * @param {((during?: () => Promise<unknown>) => Promise<unknown>)[]} flows
 * @param {{ ms: number, holdMs: number, pairsEach?: number }} how `pairsEach`: so many each, whatever time it takes
 */
export const contend = async (flows, { ms, holdMs, pairsEach = Infinity }) => {
  const during = hold(holdMs)
  let inside = 0
  const counts = { pairs: 0, gaveUp: 0, together: 0, stuck: flows.length }
  const work = async () => {
    inside += 1
    if (inside > 1) counts.together += 1
    await during?.()
    inside -= 1
  }
  const startedAt = performance.now()
  const until = startedAt + ms
  const cpuBefore = process.cpuUsage()
  let pairsUntil = 0
  const all = flows.map(async (pair) => {
    for (let done = 0; done < pairsEach && (performance.now() < until || pairsEach < Infinity); done += 1) {
      try {
        await pair(work)
        counts.pairs += 1
        if (performance.now() <= until) pairsUntil += 1
      } catch {
        counts.gaveUp += 1
        await nextTurn() // one that fails at once shall not keep the others from ending
      }
    }
    counts.stuck -= 1
  })
  const ended = Promise.all(all)
  if (pairsEach < Infinity) {
    await ended
  } else {
    await sleep(ms)
    const cpu = process.cpuUsage(cpuBefore)
    await Promise.race([ended, sleep(PATIENCE_MS)])
    return { ...counts, pairs: pairsUntil, elapsedMs: ms, cpuMicros: cpu.user + cpu.system }
  }
  return { ...counts, elapsedMs: performance.now() - startedAt, cpuMicros: 0 }
}
