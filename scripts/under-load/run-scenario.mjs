import { Flows } from './flows.mjs'
import { SCENARIOS } from './scenarios.mjs'

const SETTLED_MS = 500
const STUCK_MS = 30_000

/**
 * One scenario, so many times, on one group of servers.
 *
 * @param {string} name
 * @param {{ rounds: number, locks: number, flows: number }} wanted
 * @param {AbortSignal} interrupted
 */
export const runScenario = async (name, { rounds, locks, flows }, interrupted) => {
  const { start, options, promise } = SCENARIOS[name]
  const group = await start()
  const result = { name, promise, againMs: [], wrong: 0, lost: 0, stuck: 0, errors: 0 }
  try {
    for (let round = 0; round < rounds; round += 1) {
      interrupted.throwIfAborted()
      const names = Array.from({ length: locks }, (_, i) => `order:${round}:${i}`)
      const load = await Flows.start({ connect: group.connect, names, flows, options })
      try {
        await changeOnce(group, load, { names, result, interrupted })
      } finally {
        await load.end()
      }
      result.wrong += load.wrong
      result.lost += load.lost
      result.errors += load.errors
      if (round + 1 < rounds) await group.heal()
    }
    return result
  } finally {
    await group.stop()
  }
}

const changeOnce = async (group, load, { names, result, interrupted }) => {
  const limit = globalThis.AbortSignal.any([interrupted, globalThis.AbortSignal.timeout(STUCK_MS)])
  await load.workAgain(names, limit)
  const { affected, begin } = await group.change(names)
  const changed = begin()
  // Counted from the request: what is granted before it takes effect is granted by the former primary.
  const before = performance.now()
  await changed
  const changedMs = performance.now() - before
  try {
    result.againMs.push(changedMs + (await load.workAgain(affected, limit)))
  } catch (error) {
    interrupted.throwIfAborted()
    result.stuck += 1
    result.problem = String(error)
  }
  await new Promise((resolve) => setTimeout(resolve, SETTLED_MS))
}
