// Four processes with redlock and redis-semaphore change over to Holdfast, one by one, under load; two are killed.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { insideOf, picture } from './picture.mjs'

const [FLEET, STEP_MS] = [4, 1_200]
const LOCKS = { order: 'redlock', report: 'redis-semaphore' }
process.env.REDIS_URL ??= 'redis://localhost:6379'
const redis = new Redis(process.env.REDIS_URL)

const clear = async () => {
  const left = await redis.keys('*migration:*')
  if (left.length > 0) await redis.del(...left)
}

const processes = []
const deploy = async (version) => {
  const id = String(processes.length + 1)
  const child = fork(new URL('./service.mjs', import.meta.url), [version, id])
  const deployed = { id, version, child, startedAt: 0, killedAt: undefined }
  processes.push(deployed)
  await once(child, 'message')
  deployed.startedAt = Date.now()
  return deployed
}

const stop = async ({ child }) => {
  child.send('stop')
  await once(child, 'exit')
}

/** Its locks stay until their duration ends, on either side. */
const kill = async (victim) => {
  victim.child.kill('SIGKILL')
  await once(victim.child, 'exit')
  victim.killedAt = Date.now()
  await redis.rpush('migration:events', `dead ${victim.id} ${victim.killedAt}`)
}

await clear()
const old = await Promise.all(Array.from({ length: FLEET }, () => deploy('old')))
const from = Date.now()
await sleep(STEP_MS)
const fresh = []
for (const [i, each] of old.entries()) {
  fresh.push(await deploy('new'))
  // One of each side ends without a word.
  await (i === 1 ? kill(each) : stop(each))
  if (i === 2) {
    await kill(fresh.shift())
    fresh.push(await deploy('new'))
  }
  await sleep(STEP_MS)
}
await Promise.all(fresh.map(stop))
const to = Date.now()

const events = await redis.lrange('migration:events', 0, -1)
let isRight = true
for (const [lock, library] of Object.entries(LOCKS)) {
  const { stays, overlaps } = insideOf(events, lock)
  const turns = events.filter((event) => event.startsWith(`out ${lock} `)).length
  const sum = Number(await redis.get(`migration:sum:${lock}`))
  console.log(`${lock}, of ${library}:`)
  picture(stays, processes, [from, to]).forEach((line) => console.log(line))
  console.log(`${lock}: ${turns} turns, ${overlaps} at the same time, ${sum} counted`)
  const isSeen = processes.every(({ id }) => stays.some((stay) => stay.id === id))
  // Whoever is killed may have counted and not said that it went out.
  isRight &&= overlaps === 0 && sum >= turns && sum <= turns + 2 && isSeen
}
await clear()
redis.disconnect()
console.log(isRight ? 'changed over, and never two inside' : 'NOT as it should be')
process.exitCode = isRight ? 0 : 1
