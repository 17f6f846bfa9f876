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
    // What fails here fails again when it is measured, and is told then.
    await cell.run(how).catch(() => undefined)
  }
}

/**
 * Lets so many flows of a cell lock and unlock for `ms` milliseconds.
 *
 * @param {import('./cells.mjs').Cell} cell
 * @param {{ flows: number, ms: number }} how
 * @param {import('./context.mjs').Context} context
 */
export const measure = async (cell, { flows, ms }, { info }) => {
  await cell.run({ flows, ms: Math.min(LEAD_IN_MS, ms) })
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
