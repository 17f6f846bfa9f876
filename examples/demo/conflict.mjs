import { setTimeout as sleep } from 'node:timers/promises'
import { JobQueue } from './job-queue.mjs'
import { STEP_LIMIT_MS } from './settings.mjs'
import { within } from './time.mjs'

export const title = 'Conflict: a job whose resource is busy goes back to the queue as delayed'
/** Needs of this act that the embedded engine does not have. */
export const needs = 'BullMQ, whose scripts use streams and cmsgpack'

const DELAY_MS = 150
const WORK_MS = 400
const ORDER = 'first, other, second'

/** @param {import('./stage.mjs').Stage} stage */
export const play = async ({ crew, redis, prefix, say }) => {
  const workers = await crew.start(['worker-1', 'worker-2'])
  const queue = new JobQueue(redis, `${prefix}:conflict`)
  await queue.workers(workers, { concurrency: 1, onConflict: 'delay', delayMs: DELAY_MS })
  const add = (name, account, workMs) =>
    queue.add(name, {
      lockName: `${prefix}:account-${account}`,
      countKey: `${prefix}:account-${account}-count`,
      workMs,
    })
  say('two workers with one job at a time each; first and second need account A, other needs B')
  await add('first', 'A', WORK_MS)
  await queue.until(0, 'active')
  await locked(redis, `${prefix}:account-A`)
  await add('second', 'A', 10)
  await add('other', 'B', 10)
  const jobs = await queue.done()
  for (const { name, attemptsMade, attemptsStarted } of jobs) {
    say(`${name.padEnd(6)} started ${attemptsStarted} times, ${attemptsMade} attempt used`)
  }
  await queue.end()
  await Promise.all(workers.map((worker) => worker.end()))

  const order = jobs.map(({ name }) => name).join(', ')
  const second = jobs.find(({ name }) => name === 'second')
  const attempts = jobs.map(({ attemptsMade }) => attemptsMade).join(' ')
  const claim = {
    claim: 'A conflict goes back as delayed, and the worker goes on',
    expected: `order ${ORDER}; attempts 1 1 1; second started more than once`,
    seen: `order ${order}; attempts ${attempts}; second started ${second.attemptsStarted} times`,
    ok: order === ORDER && attempts === '1 1 1' && second.attemptsStarted > 1,
  }
  return { claims: [claim] }
}

/** Active is a job as soon as a worker has it; its lock comes a moment later, and second must not come between. */
const locked = (redis, key) => {
  const taken = async () => {
    while ((await redis.exists(key)) === 0) await sleep(5)
  }
  return within(taken(), STEP_LIMIT_MS, 'lock of the first job')
}
