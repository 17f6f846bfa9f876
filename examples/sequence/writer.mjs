// One process that writes comments, one after the other, and every fifth is refused after it got its number.
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { Redis } from 'ioredis'

const [way, count] = process.argv.slice(2)
const redis = new Redis(process.env.REDIS_URL)
const locks = await LockClient.connect(redis)
const key = (what) => `sequence:${way}:${what}`

/** The store: takes a moment, and refuses some. */
const insert = async (comment) => {
  await sleep(1)
  if (comment.text.includes('spam')) throw new Error('refused')
  await redis.rpush(key('comments'), JSON.stringify(comment))
}

/** Number and floor are what the last ones were, and one; they count when the comment is there. */
const readAndWrite = async (comment) => {
  const counters = [key('number'), key(`floor:${comment.topic}`)]
  const [number, floor] = (await redis.mget(...counters)).map((last) => Number(last ?? 0) + 1)
  await insert({ ...comment, number, floor })
  await redis.mset(counters[0], number, counters[1], floor)
}

/** Never twice, but what a refused comment took is gone. */
const incr = async (comment) => {
  const number = await redis.incr(key('number'))
  const floor = await redis.incr(key(`floor:${comment.topic}`))
  await insert({ ...comment, number, floor })
}

/** The same as the first, one at a time: for the floor in its topic, for the number in all. */
const locked = (comment) =>
  locks
    .getMultiLock(locks.getLock(key(`lock:${comment.topic}`)), locks.getLock(key('lock')))
    .withLock(() => readAndWrite(comment))

const post = { 'read-and-write': readAndWrite, incr, locked }[way]
for (let i = 0; i < Number(count); i += 1) {
  const text = i % 5 === 4 ? 'spam' : `comment ${i}`
  await post({ topic: ['cats', 'dogs', 'tea'][i % 3], text }).catch((error) => {
    if (error.message !== 'refused') throw error
  })
}
await locks.close()
redis.disconnect()
process.disconnect()
