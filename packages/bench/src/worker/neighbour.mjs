// A process that has nothing to do with locks and takes all it can have of one core.
import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Between two of them it hears that it shall stop, and that its parent has gone. */
const SLICE_MS = 20

let stopped = true
let burning = Promise.resolve()
let startedAt
let cpuBefore

const burn = async (atMostMs) => {
  while (!stopped && performance.now() < startedAt + atMostMs) {
    const until = performance.now() + SLICE_MS
    while (performance.now() < until);
    await nextTurn()
  }
}

/** Begins, and ends by itself after `atMostMs`. */
export const startBurning = ({ atMostMs }) => {
  stopped = false
  startedAt = performance.now()
  cpuBefore = process.cpuUsage()
  burning = burn(atMostMs)
}

/** @returns {Promise<number>} the part of a core that it had since it began */
export const stopBurning = async () => {
  stopped = true
  await burning
  const { user, system } = process.cpuUsage(cpuBefore)
  return (user + system) / 1_000 / (performance.now() - startedAt)
}
