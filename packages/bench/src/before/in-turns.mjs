import { RedisServer, WorkerProcess } from '@holdfast/faults/harness'
import { median } from '../statistics.mjs'

const WORKER = new URL('./worker.mjs', import.meta.url)

/** One flow alone is as fast as a round trip; a hundred share what travels together; on one lock it is handed over. */
export const LOADS = [
  { called: 'uncontended, 1 flow', flows: 1, names: 1 },
  { called: 'uncontended, 10 flows', flows: 10, names: 10 },
  { called: 'uncontended, 100 flows', flows: 100, names: 100 },
  { called: 'contended, 10 flows on one lock', flows: 10, names: 1 },
]

/**
 * Two sides with each load in turns: in every other round the second begins.
 *
 * @param {{ called: string, folder?: string, options: object }[]} pair
 * @param {{ called: string, flows: number, names: number }[]} loads
 * @param {{ rounds: number, ms: number, interrupted: AbortSignal, log: (line: string) => void }} how
 * @returns {Promise<string[][]>} of each load what it is called, both medians, and medians of the ratio in a round:
 *   pairs per second, and the CPU time of the client for a pair
 */
export const inTurns = async (pair, loads, { rounds, ms, interrupted, log }) => {
  const redis = await RedisServer.start()
  const sides = []
  try {
    for (const { folder, options } of pair) {
      const side = await WorkerProcess.start(WORKER)
      sides.push(side)
      await side.call('begin', { url: redis.url, folder, options })
    }
    const samples = loads.map(() => [])
    for (let round = 0; round <= rounds; round += 1) {
      log(
        `${pair[0].called} beside ${pair[1].called}: ${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}`,
      )
      for (const [i, { flows, names }] of loads.entries()) {
        const both = []
        for (const which of round % 2 === 0 ? [0, 1] : [1, 0]) {
          interrupted.throwIfAborted()
          both[which] = await sides[which].call('measure', { flows, names, ms })
        }
        if (round > 0) samples[i].push(both)
      }
    }
    return loads.map(({ called }, i) => [called, ...figuresOf(samples[i])])
  } finally {
    await Promise.all(sides.map((each) => each.kill()))
    await redis.stop()
  }
}

const figuresOf = (rounds) => {
  const pairs = (which) => String(Math.round(median(rounds.map((both) => both[which].pairsPerSecond))))
  const ratio = (figure) => median(rounds.map(([first, second]) => second[figure] / first[figure])).toFixed(3)
  return [pairs(0), pairs(1), ratio('pairsPerSecond'), ratio('clientMicros')]
}
