// A process of the demo: connects, says so, and runs the tasks that the demo sends.
import { emit, serveWorker } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { openLocks } from './open-locks.mjs'
import { makeTasks } from './tasks.mjs'

const [name, leaseMs] = process.argv.slice(2)
const url = process.env.HOLDFAST_DEMO_REDIS_URL

// Ctrl-C reaches the whole process group. The demo ends its processes itself, once it knows about it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined)

const redis = new Redis(url)
// A failing command says it as well.
redis.on('error', () => undefined)
const options = { clientName: name, lockWatchdogTimeout: Number(leaseMs), unavailableTimeoutMs: 5_000 }
const locks = await openLocks(url, options).catch((error) => {
  console.error(error.message)
  process.exit(1)
})
serveWorker(makeTasks({ redis, locks, tell: emit }))
