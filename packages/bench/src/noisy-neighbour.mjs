import { withWorkers } from './workers.mjs'

/** It ends by itself after this, whatever becomes of who asked for it. */
const AT_MOST_MS = 30_000

/** A process beside the contestants that takes one core when it is told to. */
class Neighbour {
  #worker
  #parts = []

  /** @param {import('@holdfast/faults/harness').WorkerProcess} worker */
  constructor(worker) {
    this.#worker = worker
  }

  /** The part of a core that it had, each time. */
  get parts() {
    return this.#parts
  }

  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  async during(work) {
    await this.#worker.call('startBurning', { atMostMs: AT_MOST_MS })
    try {
      return await work()
    } finally {
      this.#parts.push(await this.#worker.call('stopBurning'))
    }
  }
}

/** @template T @param {{ signal: AbortSignal, atMostMs: number }} life @param {(neighbour: Neighbour) => Promise<T>} use */
export const withNeighbour = (life, use) =>
  withWorkers(1, { ...life, what: 'noisy neighbour' }, ([worker]) => use(new Neighbour(worker)))
