import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { exclusive } from '@holdfast/core/schedule'
import { emit, serveWorker } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'

let locks
let redis
let ticking

/** Fires each tick when a clock that is ahead by `skewMs` says so; one that is behind has a negative skew. */
const tickAway = async ({ name, startAt, periodMs, ticks, skewMs, workMs, killedAt }) => {
  const task = exclusive(name, { locks }, async ({ tick, missed }) => {
    const number = tick.getTime()
    await redis.rpush(`${name}:begun`, number)
    emit(
      'begun',
      missed.map((each) => each.getTime()),
    )
    const dies = killedAt.filter((least) => number >= least)
    // One for each: it goes on until it is killed.
    if (dies.length > 0 && (await redis.incr(`${name}:killed`)) <= dies.length) {
      emit('to-be-killed', number)
      await sleep(60_000)
    }
    await redis.set(`${name}:killed`, dies.length)
    await sleep(workMs)
  })
  const runs = []
  const begunAt = Date.now()
  for (let number = 1; number <= ticks; number += 1) {
    const at = startAt + number * periodMs - skewMs
    if (at < begunAt) continue
    // Where the machine stood still it is late, and not left out: nobody else might come for it either.
    await sleep(Math.max(0, at - Date.now()))
    runs.push(task({ tick: number }))
  }
  await Promise.all(runs)
}

serveWorker({
  async begin(wanted) {
    redis = new Redis(wanted.url)
    const { clientName, leaseMs } = wanted
    locks = await LockClient.connect(redis, { clientName, lockWatchdogTimeout: leaseMs })
  },
  tick(wanted) {
    ticking = tickAway(wanted)
  },
  async finish() {
    await ticking
    await locks.close()
    redis.disconnect()
  },
})
