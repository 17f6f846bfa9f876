import { setTimeout as sleep } from 'node:timers/promises'
import { collectGarbage } from '../garbage.mjs'
import { flowsOf } from './opened.mjs'

/** Those who wait for one lock, and how many have had it. */
let crowd = { had: 0, failed: 0, all: Promise.resolve() }

/** Counts without a promise of its own for each of them, which would be measured with them. */
const crowdOf = (count) => {
  const waiting = { had: 0, failed: 0 }
  waiting.all = new Promise((resolve) => {
    waiting.counts = (what) => () => {
      waiting[what] += 1
      if (waiting.had + waiting.failed === count) resolve()
    }
  })
  return waiting
}

const heap = async () => {
  collectGarbage()
  await sleep(50)
  collectGarbage()
  return process.memoryUsage().heapUsed
}

/**
 * Lets so many callers wait for one lock, and gives them time to stand still.
 *
 * @returns {Promise<{ bytes: number }>} what the heap has grown by
 */
export const gather = async ({ variant, name, count, settleMs }) => {
  const before = await heap()
  const waiting = crowdOf(count)
  const work = async () => undefined
  const [had, failed] = [waiting.counts('had'), waiting.counts('failed')]
  for (const flow of flowsOf({ variant, name }, count)) flow(work).then(had, failed)
  crowd = waiting
  await sleep(settleMs)
  return { bytes: (await heap()) - before }
}

/** CPU of this process while it does nothing but wait, µs. */
export const idle = async ({ ms }) => {
  const before = process.cpuUsage()
  await sleep(ms)
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/** Resolves when everybody has had the lock, or the time is over. */
export const drained = async ({ atMostMs }) => {
  const from = process.hrtime.bigint()
  await Promise.race([crowd.all, sleep(atMostMs)])
  return { had: crowd.had, failed: crowd.failed, at: Number(process.hrtime.bigint()), from: Number(from) }
}

/** How many have had the lock so far. */
export const progress = () => crowd.had
