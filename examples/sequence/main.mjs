// Comments of four processes: each gets a number of its own, and a floor in its topic, without a gap. Three ways.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'

const [PROCESSES, EACH] = [4, 50]
process.env.REDIS_URL ??= 'redis://localhost:6379'
const redis = new Redis(process.env.REDIS_URL)

const write = async (way) => {
  const writers = Array.from({ length: PROCESSES }, () =>
    fork(new URL('./writer.mjs', import.meta.url), [way, String(EACH)]),
  )
  await Promise.all(writers.map((writer) => once(writer, 'exit')))
  const comments = (await redis.lrange(`sequence:${way}:comments`, 0, -1)).map((text) => JSON.parse(text))
  const topics = [...new Set(comments.map(({ topic }) => topic))]
  const floors = topics.map((topic) =>
    faults(comments.filter((each) => each.topic === topic).map(({ floor }) => floor)),
  )
  const numbers = faults(comments.map(({ number }) => number))
  const sum = [numbers, ...floors].reduce((all, { twice, gaps }) => ({
    twice: all.twice + twice,
    gaps: all.gaps + gaps,
  }))
  console.log(`${way}: ${comments.length} comments, ${sum.twice} numbers given twice, ${sum.gaps} gaps`)
  return sum
}

/** Finds gaps and repeats among numbers that should be 1, 2, 3, … */
const faults = (numbers) => {
  const given = new Set(numbers)
  return { twice: numbers.length - given.size, gaps: Math.max(...numbers) - given.size }
}

const plain = await write('read-and-write')
const counters = await write('incr')
const locked = await write('locked')
const left = await redis.keys('*sequence:*')
if (left.length > 0) await redis.del(...left)
redis.disconnect()
const isRight =
  plain.twice > 0 && counters.twice === 0 && counters.gaps > 0 && locked.twice + locked.gaps === 0
console.log(isRight ? 'only the locks leave neither' : 'NOT as it should be')
process.exitCode = isRight ? 0 : 1
