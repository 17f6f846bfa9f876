import { Crew } from './crew.mjs'

/**
 * Everybody lives: all are served, in the order in which Redis put them in line.
 *
 * @param {{ waiters: number, processes: number, resyncMs: number }} wanted
 * @param {AbortSignal} interrupted
 */
export const order = async ({ waiters, processes, resyncMs }, interrupted) => {
  const crew = await Crew.start({ processes, resyncMs, leaseMs: 10_000, holdMs: 0, interrupted })
  try {
    const hold = await crew.lock.acquire()
    await crew.stand(waiters)
    const line = await crew.line()
    const startedAt = performance.now()
    await hold.release()
    const workers = await crew.finish()
    const tookMs = performance.now() - startedAt
    const served = (await crew.served()).map(({ owner }) => owner)
    const left = await crew.close()
    return { waiters, processes, tookMs, problems: problemsOf({ line, served, workers, left }) }
  } finally {
    await crew.stop()
  }
}

const problemsOf = ({ line, served, workers, left }) => {
  const wrong = served.findIndex((owner, i) => owner !== line[i])
  const failed = workers.flatMap(({ ends }) => Object.entries(ends).filter(([end]) => end !== 'served'))
  return [
    ...(wrong >= 0 ? [`place ${wrong + 1} of the line was ${line[wrong]}, served was ${served[wrong]}`] : []),
    ...(served.length !== line.length ? [`${line.length} stood in line, ${served.length} were served`] : []),
    ...failed.map(([end, count]) => `${count} callers ended with ${end}`),
    ...left.map(({ key }) => `${key} is left`),
  ]
}
