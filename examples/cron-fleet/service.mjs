// One process of the fleet. Half of them use node-cron, the others croner: `exclusive` works under both.
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { exclusive } from '@holdfast/core/schedule'
import { Cron } from 'croner'
import cron from 'node-cron'

const [name, scheduler] = process.argv.slice(2)
// A killed process keeps the others out for this long.
const locks = await LockClient.connect(process.env.REDIS_URL, {
  clientName: name,
  lockWatchdogTimeout: 2_500,
})

const report = exclusive('cron-fleet', { locks, atMostForMs: 10_000 }, async ({ tick, missed, signal }) => {
  process.send({ ran: tick.getTime(), missed: missed.map((each) => each.getTime()) })
  await sleep(600, undefined, { signal }) // the work
})

// The latest tick of croner: it looks for those before a whole second.
const tickOf = (self) => self.previousRuns(1, new Date(Math.floor(Date.now() / 1_000 + 1) * 1_000))[0]

const job =
  scheduler === '0'
    ? cron.schedule('* * * * * *', ({ date }) => report({ tick: date }).catch(console.error))
    : new Cron('* * * * * *', (self) => report({ tick: tickOf(self) }).catch(console.error))

process.on('message', async () => {
  await job.stop()
  await locks.close()
  process.exit()
})
