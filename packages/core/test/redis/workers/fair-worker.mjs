// A service whose callers stand in the line of one fair lock. Runs against the built packages.
import { LockClient } from '@holdfast/core'
import { serveWorker } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { openCarrier } from './open-carrier.mjs'

const url = process.env.HOLDFAST_TEST_WORKER_REDIS
const redis = new Redis(url)
const carrier = await openCarrier(url)
const locks = await LockClient.connect(carrier.client, {
  bareCalls: 'allow',
  resyncInterval: Number(process.env.HOLDFAST_TEST_RESYNC),
})
const standing = []

serveWorker({
  /** The caller notes its label in a list in Redis when it is its turn, and lets the next one in. */
  stand(name, label, served) {
    const turn = locks.getFairLock(name).withLock(() => redis.rpush(served, label))
    standing.push(turn)
  },
  done: () => Promise.all(standing).then(() => undefined),
  async close() {
    await locks.close({ graceMs: 0 })
    carrier.end()
    redis.disconnect()
  },
})
