import { setTimeout as sleep } from 'node:timers/promises'
import { KEY_TTL_MS } from './settings.mjs'
import { nowMs } from './time.mjs'

export const QUEUE = 'jobs'

/** Counts as a job that reads, thinks and writes: two at once count as one. */
const printOne = async (redis, { countKey, workMs }) => {
  const from = nowMs()
  const count = Number(await redis.get(countKey))
  await sleep(workMs)
  await redis.set(countKey, count + 1, 'PX', KEY_TTL_MS)
  return { from, to: nowMs() }
}

/**
 * @param {import('ioredis').Redis} redis
 * @param {import('@holdfast/core').LockClient} locks
 */
export const queueTasks = (redis, locks) => {
  let worker
  let connection
  return {
    /** Works on the queue from now on; without `onConflict` jobs hold nothing. */
    workOn: async ({ prefix, concurrency, onConflict, delayMs }) => {
      // Only here: the other acts' processes shall start quickly.
      const [{ Worker }, { locked }] = await Promise.all([import('bullmq'), import('@holdfast/bullmq')])
      const work = ({ data }) => printOne(redis, data)
      const guarded = locked(work, { locks, name: ({ data }) => data.lockName, onConflict, delayMs })
      connection = redis.duplicate({ maxRetriesPerRequest: null })
      worker = new Worker(QUEUE, onConflict ? guarded : work, { prefix, concurrency, connection })
      worker.on('error', () => undefined)
      await worker.waitUntilReady()
    },
    stopWork: async () => {
      await worker.close()
      connection.disconnect()
    },
  }
}
