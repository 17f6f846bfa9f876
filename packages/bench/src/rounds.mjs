import { measure } from './measure.mjs'
import { summary } from './statistics.mjs'

const FIGURES = ['pairsPerSecond', 'clientMicros', 'redisMicros']

/**
 * Interleaved rounds, A B C A B C: what slows the machine down for a while slows all contestants down. The first
 * round is warm-up and is not counted.
 *
 * @param {import('./cells.mjs').Cell[]} cells
 * @param {{ rounds: number, ms: number, signal: AbortSignal, log: (line: string) => void }} how
 */
export const runRounds = async (cells, { rounds, log, ...how }) => {
  const samples = new Map(cells.map((cell) => [cell, []]))
  const failures = new Map()
  for (let round = 0; round <= rounds; round += 1) {
    log(round === 0 ? 'warm-up' : `round ${round} of ${rounds}`)
    for (const cell of cells) {
      if (failures.has(cell)) continue
      how.signal.throwIfAborted()
      try {
        const sample = await measure(cell, how)
        if (round > 0) samples.get(cell).push(sample)
      } catch (error) {
        failures.set(cell, error.message)
      }
    }
  }
  how.signal.throwIfAborted()
  return cells.map((cell) => resultOf(cell, samples.get(cell), failures.get(cell)))
}

const resultOf = ({ setting, name, kind }, samples, failure) => ({
  setting,
  name,
  kind,
  ...(failure === undefined ? figuresOf(samples) : { failure }),
})

const figuresOf = (samples) => ({
  ...Object.fromEntries(FIGURES.map((figure) => [figure, summary(samples.map((each) => each[figure]))])),
  samples,
})
