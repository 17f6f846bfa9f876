import { setTimeout as sleep } from 'node:timers/promises'
import { collectGarbage } from '../garbage.mjs'
import { flowsOf } from './opened.mjs'

/** Those who wait for one lock, and in which order they had it. */
let crowd = { had: 0, failed: 0, all: Promise.resolve() }

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
  const waiting = { had: 0, failed: 0 }
  const work = async () => {
    waiting.had += 1
  }
  const failed = () => {
    waiting.failed += 1
  }
  waiting.all = Promise.all(flowsOf({ variant, name }, count).map((flow) => flow(work).catch(failed)))
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
