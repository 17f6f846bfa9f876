import { summaries } from './statistics.mjs'

/**
 * Interleaved rounds, A B C A B C: what slows the machine down for a while slows all contestants down. The first
 * round is warm-up and is not counted. One that fails is left alone from then on.
 *
 * @template C
 * @param {C[]} cells
 * @param {(cell: C) => Promise<Record<string, number>>} measure one turn of one of them
 * @param {{ rounds: number, what: string, warmUp?: boolean }} how
 * @param {import('./context.mjs').Context} context
 * @returns {Promise<object[]>} for each cell the median, smallest and largest of each figure, or its failure
 */
export const interleaved = async (cells, measure, { rounds, what, warmUp = true }, { signal, log }) => {
  const samples = new Map(cells.map((cell) => [cell, []]))
  const failures = new Map()
  for (let round = warmUp ? 0 : 1; round <= rounds; round += 1) {
    log(`${what}: ${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}`)
    for (const cell of cells) {
      if (failures.has(cell)) continue
      signal.throwIfAborted()
      try {
        const sample = await measure(cell)
        if (round > 0) samples.get(cell).push(sample)
      } catch (error) {
        signal.throwIfAborted()
        failures.set(cell, error.message)
      }
    }
  }
  return cells.map((cell) =>
    failures.has(cell) ? { failure: failures.get(cell) } : { ...summaries(samples.get(cell)) },
  )
}
