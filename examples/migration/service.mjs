// One process of a service that has redlock and redis-semaphore, or the drop-ins of Holdfast: the imports are all that differs.
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'

const [version, id] = process.argv.slice(2)
const isNew = version === 'new'
const { default: Redlock } = await import(isNew ? '@holdfast/redlock' : 'redlock')
const { Mutex } = await import(isNew ? '@holdfast/redis-semaphore' : 'redis-semaphore')

const redis = new Redis(process.env.REDIS_URL)
const redlock = new Redlock([redis], { retryCount: -1, retryDelay: 20, retryJitter: 10 })
// redlock 5 tells of every attempt that found the lock taken.
redlock.on('error', () => undefined)

/** Reads a number, works, and writes one more: what two do at the same time counts once. */
const work = async (what) => {
  await redis.rpush('migration:events', `in ${what} ${id} ${Date.now()}`)
  const sum = Number((await redis.get(`migration:sum:${what}`)) ?? 0)
  await sleep(4 + Math.random() * 8)
  await redis.set(`migration:sum:${what}`, sum + 1)
  await redis.rpush('migration:events', `out ${what} ${id} ${Date.now()}`)
}

const ship = async () => {
  const lock = await redlock.acquire(['migration:order'], 2_000)
  try {
    await work('order')
  } finally {
    await lock.release()
  }
}

const report = async () => {
  const mutex = new Mutex(redis, 'migration:report', { lockTimeout: 2_000, retryInterval: 20 })
  await mutex.acquire()
  try {
    await work('report')
  } finally {
    await mutex.release()
  }
}

let isEnding = false
process.on('message', () => (isEnding = true))
process.send('ready')
const repeated = async (turn) => {
  while (!isEnding) {
    await turn()
    await sleep(5 + Math.random() * 10)
  }
}
await Promise.all([repeated(ship), repeated(report)])
await redlock.quit()
process.disconnect()
