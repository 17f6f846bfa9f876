import { interleaved } from './rounds.mjs'

// A process that has slept is slow at first.
const LEAD_IN_MS = 300

/**
 * A process that has just started is several times as slow as one that serves: the compiler has to see all of it.
 *
 * @param {import('./cells.mjs').Cell[]} cells
 * @param {{ flows: number, ms: number }} how
 * @param {import('./context.mjs').Context} context
 */
export const warmUp = async (cells, how, { signal, log }) => {
  log(`warm-up: ${cells.length} contestants, ${how.ms} ms each`)
  for (const cell of cells) {
    signal.throwIfAborted()
    // A failure here is repeated when it is measured, and told then.
    await cell.run(how).catch(() => undefined)
  }
}

/**
 * Lets so many flows of a cell lock and unlock for `ms` milliseconds.
 *
 * @param {import('./cells.mjs').Cell} cell
 * @param {{ flows: number, ms: number, leadInMs?: number }} how `leadInMs`: what is not counted, before
 * @param {import('./context.mjs').Context} context
 */
export const measure = async (cell, { flows, ms, leadInMs = LEAD_IN_MS }, { info }) => {
  await cell.run({ flows, ms: Math.min(leadInMs, ms) })
  const redisBefore = await info.cpuMicros()
  const { pairs, elapsedMs, cpuMicros } = await cell.run({ flows, ms })
  const redisMicros = (await info.cpuMicros()) - redisBefore
  return {
    pairs,
    pairsPerSecond: (pairs * 1000) / elapsedMs,
    clientMicros: cpuMicros / pairs,
    redisMicros: redisMicros / pairs,
  }
}

/** Words of a table or a bar about a cell, besides its figures. */
export const whoIs = ({ setting, name, kind }) => ({ setting, name, kind })

/**
 * Interleaved rounds of all cells with so many flows.
 *
 * @param {import('./cells.mjs').Cell[]} cells
 * @param {{ flows: number, ms: number, leadInMs?: number, rounds: number, what: string, warmUp?: boolean }} how
 * @param {import('./context.mjs').Context} context
 * @returns {Promise<object[]>} of each cell who it is, how many flows, and its figures or its failure
 */
export const roundsOf = async (cells, { flows, ms, leadInMs, rounds, what, warmUp }, context) => {
  const turn = (cell) => measure(cell, { flows, ms, leadInMs }, context)
  const figures = await interleaved(cells, turn, { rounds, what: `${what}, ${flows} flows`, warmUp }, context)
  return cells.map((cell, i) => ({ ...whoIs(cell), flows, ...figures[i] }))
}
