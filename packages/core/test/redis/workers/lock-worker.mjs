// A service of its own: one client, told what to do by the test. Runs against the built packages.
import { LockClient } from '@holdfast/core'
import { emit, serveWorker } from '@holdfast/testing'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { Redis } = require(process.env.HOLDFAST_TEST_IOREDIS ?? 'ioredis')
const redis = new Redis(process.env.HOLDFAST_TEST_WORKER_REDIS)
const locks = await LockClient.connect(redis, {
  bareCalls: 'allow',
  lockWatchdogTimeout: Number(process.env.HOLDFAST_TEST_WATCHDOG ?? 30_000),
})
locks.on('lost', ({ error }) =>
  emit('lost', { reason: error.reason, at: performance.timeOrigin + performance.now() }),
)
const holds = new Map()

/** What a holder would see that looks right now. */
function look(lockName) {
  const hold = holds.get(lockName)
  const trusted = hold.trustedForMs
  let ensured = true
  try {
    hold.ensure()
  } catch {
    ensured = false
  }
  return { trusted, ensured, aborted: hold.signal.aborted }
}

serveWorker({
  /** Adds to a counter in Redis in two steps: only exclusion makes the sum right. */
  async increment(lockName, counter, times) {
    const lock = locks.getLock(lockName)
    for (let i = 0; i < times; i++) {
      await lock.withLock(async () => {
        const value = Number(await redis.get(counter))
        await redis.set(counter, value + 1)
      })
    }
  },
  async acquire(lockName, leaseMs) {
    const hold = await locks.getLock(lockName).acquire({ leaseMs })
    holds.set(lockName, hold)
    return hold.owner
  },
  look,
  release: (lockName) => holds.get(lockName).release(),
  /** Blocks the event loop, then tells what the first look after it says. */
  block(lockName, ms) {
    const end = performance.now() + ms
    while (performance.now() < end);
    const { ensured, trusted } = look(lockName)
    return { ensured, trusted }
  },
  close: () => locks.close({ graceMs: 0 }).then(() => redis.disconnect()),
})
