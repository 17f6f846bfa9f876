import { RedisServer, WorkerProcess } from '@holdfast/faults/harness'
import { quantile } from '../statistics.mjs'

const WORKER = new URL('./worker.mjs', import.meta.url)

const NOBODY = 'nobody subscribed'
const LOOKED_ON = ['a listener that does nothing', 'metrics: producer', 'metrics: api']

/** @param {string[]} ways @param {(workers: any[]) => Promise<any>} measure */
const withWorkers = async (ways, { flows, before, newNames }, measure) => {
  const redis = await RedisServer.start()
  const workers = []
  try {
    for (const way of ways) {
      const process = await WorkerProcess.start(WORKER)
      workers.push({ way, process })
      await process.call('begin', { name: `${workers.length}`, way, url: redis.url, flows, before, newNames })
    }
    return await measure(workers)
  } finally {
    await Promise.all(workers.map(({ process }) => process.kill()))
    await redis.stop()
  }
}

/** Each way has processes of its own, which take turns. */
export const betweenProcesses = (wanted, interrupted) => {
  const { rounds, ms, processes, before } = wanted
  const ways = [...(before ? ['before'] : []), NOBODY, ...LOOKED_ON]
  const all = Array.from({ length: processes }, () => ways).flat()
  return withWorkers(all, wanted, async (workers) => {
    const samples = workers.map(() => [])
    for (const { process } of workers) await process.call('lookOn')
    for (let round = 0; round <= rounds; round += 1) {
      for (const [i, { process }] of workers.entries()) {
        interrupted.throwIfAborted()
        const sample = await process.call('measure', ms)
        if (round > 0) samples[i].push(sample)
      }
    }
    return ways.map((way) => {
      const ofWay = samples.filter((_, i) => workers[i].way === way)
      const pairs = ofWay.flat().map((each) => each.pairsPerSecond)
      // Other work on the machine only adds to it.
      const least = ofWay.map((each) => Math.min(...each.map(({ clientMicros }) => clientMicros)))
      return { way, pairs: quantile(pairs, 0.5), micros: quantile(least, 0.5) }
    })
  })
}

/** Each way has processes in which nobody looks on half of the time. */
export const withinProcesses = (wanted, interrupted) => {
  const { rounds, ms, processes } = wanted
  // The first says what two measurements of the same differ by.
  const ways = [NOBODY, ...LOOKED_ON]
  const all = Array.from({ length: processes }, () => ways).flat()
  return withWorkers(all, wanted, async (workers) => {
    const samples = workers.map(() => [])
    for (let round = -3; round < rounds; round += 1) {
      for (const [i, { process }] of workers.entries()) {
        interrupted.throwIfAborted()
        const sample = await process.call('measureBoth', { ms, lookedOnFirst: round % 2 === 0 })
        if (round >= 0) samples[i].push(sample)
      }
    }
    return ways.map((way) => ({ way, ...ratiosOf(samples.filter((_, i) => workers[i].way === way)) }))
  })
}

/** @param {{ lookedOn: any, alone: any }[][]} ofProcesses the turns of each */
const ratiosOf = (ofProcesses) => {
  const median = (ratioOf) => quantile(ofProcesses.flat().map(ratioOf), 0.5)
  const micros = (turns, which) => turns.map((turn) => turn[which].clientMicros)
  const least = ofProcesses.map(
    (turns) => quantile(micros(turns, 'lookedOn'), 0.1) / quantile(micros(turns, 'alone'), 0.1),
  )
  return {
    // Other work on the machine only adds to it.
    least: quantile(least, 0.5),
    micros: median(({ lookedOn, alone }) => lookedOn.clientMicros / alone.clientMicros),
    pairs: median(({ lookedOn, alone }) => lookedOn.pairsPerSecond / alone.pairsPerSecond),
  }
}
