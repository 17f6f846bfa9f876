import { optionsFor } from './connection.mjs'
import { withWorkers } from './workers.mjs'

/** One contestant in one setting, in a process of its own: what others do there is nothing to it. */
export class Cell {
  #worker

  /**
   * @param {import('@holdfast/faults/harness').WorkerProcess} worker
   * @param {{ setting: string, name: string, kind: 'raw' | 'holdfast' | 'peer', calls: Record<string, number> }} what
   *   `calls`: what one pair makes Redis do
   */
  constructor(worker, { setting, name, kind, calls }) {
    this.#worker = worker
    Object.assign(this, { setting, name, kind, calls })
  }

  /** Locks and unlocks with so many flows for so long. @returns {Promise<{ pairs: number, elapsedMs: number, cpuMicros: number }>} */
  run(how) {
    return this.#worker.call('runFlows', how)
  }

  /** @returns {Promise<number[]>} how late a timer of 1 ms is beside so many flows, ms, each time */
  timersBeside(how) {
    return this.#worker.call('timersBeside', how)
  }

  /** Each flow does so many pairs. @returns {Promise<void>} */
  repeat(how) {
    return this.#worker.call('repeatPairs', how)
  }

  /** @returns {Promise<number[]>} µs of each of so many pairs, one after the other */
  pairTimes(pairs) {
    return this.#worker.call('pairTimes', { pairs })
  }
}

const chosenOf = ({ settings }, context) =>
  settings.flatMap(({ id, autoPipelining, contestants }) =>
    contestants
      .filter(({ name }) => context.isChosen(`${id}: ${name}`))
      .map(({ name, kind, calls, package: from }) => ({
        setting: id,
        options: optionsFor(context.url, autoPipelining),
        name,
        kind,
        calls,
        package: from,
      })),
  )

/**
 * Opens every contestant in every setting, lets `use` have them, and ends them whatever comes. A peer that does not
 * load on this Node is left out, and noted.
 *
 * @template T
 * @param {import('./context.mjs').Context} context
 * @param {{ settings: object[], flows: number, scenario: string, atMostMs: number, execPath?: string }} what
 * @param {(cells: Cell[]) => Promise<T>} use
 */
export const withCells = async (context, { scenario, flows, atMostMs, execPath, ...what }, use) => {
  const chosen = chosenOf(what, context)
  const life = { signal: context.signal, atMostMs, what: scenario, execPath }
  return withWorkers(chosen.length, life, async (workers) => {
    const opened = await Promise.allSettled(
      chosen.map(({ setting, name, options }, i) => {
        const prefix = context.name(scenario, setting, name)
        return workers[i].call('openFlows', { setting, name, options, runId: context.runId, prefix, flows })
      }),
    )
    const cells = chosen.flatMap((each, i) => {
      if (opened[i].status === 'fulfilled') return [new Cell(workers[i], each)]
      if (each.kind !== 'peer') throw opened[i].reason
      context.leaveOut(each.package, opened[i].reason.message)
      return []
    })
    const result = await use(cells)
    await Promise.all(workers.map((worker) => worker.call('closeFlows')))
    return result
  })
}
