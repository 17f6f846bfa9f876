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
  lockWatchdogTimeout: 1_500,
})

const report = exclusive('cron-fleet', { locks, atMostForMs: 10_000 }, async ({ tick, missed, signal }) => {
  process.send({ ran: tick.getTime(), missed: missed.map((each) => each.getTime()) })
  await sleep(200, undefined, { signal }) // the work
})

const job =
  scheduler === '0'
    ? cron.schedule('* * * * * *', ({ date }) => report({ tick: date }))
    : // croner tells no scheduled time: its ticks are whole seconds.
      new Cron('* * * * * *', () => report({ tick: Math.round(Date.now() / 1_000) * 1_000 }))

process.on('message', async () => {
  await job.stop()
  await locks.close()
  process.exit()
})
