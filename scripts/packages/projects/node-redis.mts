import { setTimeout as pay } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { createClient } from 'redis'

const redis = createClient({ url: process.env.REDIS_URL ?? 'redis://localhost:6379' })
redis.on('error', console.error)
await redis.connect()
const locks = new LockClient(redis)
const lock = locks.getLock('stock:42')

let stock = 1
const outcomes = ['Ann', 'Bob'].map((buyer) =>
  lock.withLock(async (hold) => {
    if (stock === 0) return `${buyer}: sold out`
    await pay(10, undefined, { signal: hold.signal })
    stock -= 1
    return `${buyer}: bought it`
  }),
)
console.log((await Promise.all(outcomes)).join(', '))

await locks.close()
await redis.close()
