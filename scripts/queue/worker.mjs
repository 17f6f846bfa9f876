import { setTimeout as sleep } from 'node:timers/promises'
import { locked } from '@holdfast/bullmq'
import { LockClient } from '@holdfast/core'
import { emit, serveWorker } from '@holdfast/testing'
import { Worker } from 'bullmq'
import { Redis } from 'ioredis'

let redis
let locks
let worker
let settings

/** Says in Redis that the resource is in use, and whether it was so already; who was killed is taken out by the parent. */
const work = async ({ id, data }) => {
  const { resource, number } = data
  const inUse = `in-use:${resource}`
  const me = `${settings.name} ${id}`
  const [, [, users]] = await redis
    .multi()
    .hset(inUse, me, 1)
    .hlen(inUse)
    .rpush(`order:${resource}`, number)
    .exec()
  if (users > 1) await redis.incr('overlaps')
  await sleep(settings.workMs)
  await redis.hdel(inUse, me)
}

const processorFor = ({ options, fair }) => {
  if (!options) return work
  const name = ({ data }) => `resource:${data.resource}`
  return fair
    ? locked(work, { ...options, lock: (job) => locks.getFairLock(name(job)) })
    : locked(work, { ...options, locks, name })
}

serveWorker({
  async begin(wanted) {
    settings = wanted
    const { url, name, leaseMs, strategy, concurrency } = settings
    redis = new Redis(url)
    redis.on('error', () => undefined)
    locks = await LockClient.connect(redis, { clientName: name, lockWatchdogTimeout: leaseMs })
    const { hostname: host, port } = new URL(url)
    const connection = { host, port: Number(port), maxRetriesPerRequest: null }
    const ofJobs = { connection, concurrency, autorun: false, ...strategy.worker }
    worker = new Worker('jobs', processorFor(strategy), ofJobs)
    worker.on('error', (error) => emit('trouble', error.message))
    await worker.waitUntilReady()
  },

  run() {
    void worker.run()
  },

  async finish() {
    await worker.close()
    await locks.close()
    redis.disconnect()
  },
})
