// A service whose callers stand in the line of one fair lock. Runs against the built packages.
import { LockClient } from '@holdfast/core'
import { serveWorker } from '@holdfast/testing'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { Redis } = require(process.env.HOLDFAST_TEST_IOREDIS ?? 'ioredis')
const redis = new Redis(process.env.HOLDFAST_TEST_WORKER_REDIS)
const locks = await LockClient.connect(redis, {
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
  close: () => locks.close({ graceMs: 0 }).then(() => redis.disconnect()),
})
