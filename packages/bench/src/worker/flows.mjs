// One contestant, alone in this process: its flows lock and unlock.
import { performance } from 'node:perf_hooks'
import { contestantOf } from '../contestants/index.mjs'
import { microsOf } from '../micros-of.mjs'

/** @type {((during?: () => Promise<unknown>) => Promise<unknown>)[]} */
let flows = []
let close = async () => undefined

/** Each flow has a lock of its own. */
export const openFlows = async ({ setting, name, options, runId, prefix, flows: count }) => {
  const open = await contestantOf(setting, name).load()
  const opened = await open({ options, runId })
  flows = Array.from({ length: count }, (_, i) => opened.flow(`${prefix}:${i}`))
  close = opened.close
}

export const closeFlows = () => close()

export const runFlows = async (how) => {
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  const pairs = await pairsOf(how)
  const { user, system } = process.cpuUsage(cpuBefore)
  return { pairs, elapsedMs: performance.now() - startedAt, cpuMicros: user + system }
}

/** How late a timer of 1 ms is, beside so many flows. @returns {Promise<number[]>} ms, of each time */
export const timersBeside = ({ flows, ms }) =>
  lateTimers(() => (flows > 0 ? pairsOf({ flows, ms }) : new Promise((resolve) => setTimeout(resolve, ms))))

/** How late a timer of 1 ms is beside this work. @param {() => Promise<unknown>} work @returns {Promise<number[]>} the same */
export const lateTimers = async (work) => {
  const late = []
  let over = false
  const ticking = (async () => {
    while (!over) {
      const from = performance.now()
      await new Promise((resolve) => setTimeout(resolve, 1))
      late.push(performance.now() - from - 1)
    }
  })()
  await work()
  over = true
  await ticking
  return late
}

export const repeatPairs = async ({ flows: count, times }) => {
  for (let i = 0; i < times; i += 1) await Promise.all(flows.slice(0, count).map((pair) => pair()))
}

export const pairTimes = async ({ pairs }) => {
  const [pair] = flows
  const micros = []
  for (let i = 0; i < pairs; i += 1) {
    micros.push(await microsOf(pair))
  }
  return micros
}

/** @returns {Promise<number>} the pairs that were done */
const pairsOf = async ({ flows: count, ms }) => {
  let over = false
  let pairs = 0
  const stop = () => (over = true)
  const timer = setTimeout(stop, ms)
  try {
    await Promise.all(
      flows.slice(0, count).map(async (pair) => {
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
  }
}
