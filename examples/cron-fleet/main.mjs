// Four processes with the same schedule, a tick each second. Whoever runs the third is killed in the middle.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { LockClient } from '@holdfast/core'
import { ticksOf } from '@holdfast/core/schedule'
import { Redis } from 'ioredis'

const [PROCESSES, RUNS] = [4, 6]
process.env.REDIS_URL ??= 'redis://localhost:6379'
const redis = new Redis(process.env.REDIS_URL)
const locks = await LockClient.connect(redis)
const forget = () => redis.del('holdfast:ticks:{cron-fleet}')
await forget()
let runs = 0
let killed
let enough
const done = new Promise((resolve) => (enough = resolve))

const start = (_, i) => {
  const service = fork(new URL('./service.mjs', import.meta.url), [`service-${i + 1}`, String(i % 2)])
  service.on('message', ({ ran, missed }) => {
    runs += 1
    if (runs === 3) {
      killed = { service, tick: ran }
      service.kill('SIGKILL')
    } else if (killed && missed.includes(killed.tick)) {
      console.log(`tick ${seconds(killed.tick)} was not finished: told to the run of tick ${seconds(ran)}`)
    }
    if (runs >= RUNS) enough()
  })
  return service
}
const first = Math.ceil(Date.now() / 1_000) * 1_000
const seconds = (tick) => `+${Math.round((tick - first) / 1_000)} s`

const services = Array.from({ length: PROCESSES }, start)
await done
await Promise.all(
  services.filter((each) => each !== killed.service).map((each) => (each.send('stop'), once(each, 'exit'))),
)
const ticks = await ticksOf(locks, 'cron-fleet')
for (const { tick, state, owner = '' } of ticks) {
  console.log(`${seconds(tick.getTime()).padEnd(6)}${state.padEnd(12)}${owner.replace(/~.*/, '')}`)
}
await locks.close()
await forget()
redis.disconnect()
const inOrder = ticks.every(
  ({ tick }, i) => i === 0 || tick.getTime() - ticks[i - 1].tick.getTime() === 1_000,
)
const unfinished = ticks.filter(({ state }) => state === 'unfinished')
const ran = ticks.filter(({ state }) => state === 'done').length
const isRight = inOrder && unfinished.length === 1 && ran === runs - 1
console.log(isRight ? `${ran} ticks run once, 1 not finished, none lost from sight` : 'NOT as it should be')
process.exitCode = isRight ? 0 : 1
