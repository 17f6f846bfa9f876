// A process of the demo: connects, says so, and runs the tasks that the demo sends.
import { Redis } from 'ioredis'
import { openLocks } from './open-locks.mjs'
import { makeTasks } from './tasks.mjs'

const [name, leaseMs] = process.argv.slice(2)
const url = process.env.HOLDFAST_DEMO_REDIS_URL

// The channel closes when the demo is gone, however it ended: nobody would stop this process after that.
process.on('disconnect', () => process.exit())
// It may have closed before the line above.
if (!process.connected) process.exit()
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
const tasks = makeTasks({ redis, locks, tell: (event, data) => process.send({ event, data }) })

process.on('message', async ({ id, task, args }) => {
  try {
    process.send({ id, value: await tasks[task](args) })
  } catch (error) {
    process.send({ id, error: error.message })
  }
})
process.send({ event: 'ready' })
