import { JobQueue } from './job-queue.mjs'

export const title = 'Task queue: the workers of four processes share one resource'
/** Needs of this act that the embedded engine does not have. */
export const needs = 'BullMQ, whose scripts use streams and cmsgpack'

const PROCESSES = 4
const CONCURRENCY = 5
const JOBS = 40
const WORK_MS = 10

/** @param {import('./stage.mjs').Stage} stage */
export const play = async ({ crew, redis, prefix, say }) => {
  const workers = await crew.start(Array.from({ length: PROCESSES }, (_, index) => `worker-${index + 1}`))
  say(`${JOBS} jobs of BullMQ for ${PROCESSES} workers with ${CONCURRENCY} at a time each, on one printer`)
  const plain = await print({ workers, redis, prefix: `${prefix}:plain` })
  say(`as they are: ${plain.done} done, ${plain.counted} counted, up to ${plain.most} at a time`)
  const guarded = await print({ workers, redis, prefix: `${prefix}:guarded`, onConflict: 'wait' })
  say(`inside locked(...): ${guarded.done} done, ${guarded.counted} counted, ${guarded.most} at a time`)
  await Promise.all(workers.map((worker) => worker.end()))
  const inWords = ({ done, counted, most }) => `${done} jobs done, ${counted} counted, ${most} at a time`
  const claim = {
    claim: 'Workers of a queue use one resource one after the other',
    expected: `${JOBS} jobs done, ${JOBS} counted, 1 at a time; without it fewer are counted`,
    seen: `${inWords(guarded)}; without it ${plain.counted}`,
    ok: plain.counted < JOBS && guarded.counted === JOBS && guarded.done === JOBS && guarded.most === 1,
  }
  return { claims: [claim] }
}

const print = async ({ workers, redis, prefix, onConflict }) => {
  const queue = new JobQueue(redis, `${prefix}:queue`)
  const countKey = `${prefix}:count`
  await queue.workers(workers, { concurrency: CONCURRENCY, onConflict })
  for (let number = 0; number < JOBS; number += 1) {
    await queue.add('print', { lockName: `${prefix}:printer`, countKey, workMs: WORK_MS })
  }
  const runs = (await queue.done()).map(({ returnvalue }) => returnvalue).filter(Boolean)
  await queue.end()
  return {
    done: runs.length,
    counted: Number(await redis.get(countKey)),
    most: Math.max(...runs.map(({ from }) => runs.filter((run) => run.from <= from && from < run.to).length)),
  }
}
