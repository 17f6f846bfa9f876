import { setTimeout as sleep } from 'node:timers/promises'
import { paymentTasks } from './payment-tasks.mjs'
import { scheduleTasks } from './schedule-tasks.mjs'
import { KEY_TTL_MS, STEP_LIMIT_MS } from './settings.mjs'
import { nowMs } from './time.mjs'

/**
 * The tasks of a process of the demo.
 *
 * @param {object} tools
 * @param {import('ioredis').Redis} tools.redis
 * @param {import('@holdfast/core').LockClient} tools.locks
 * @param {(event: string, data?: unknown) => void} tools.tell sends an event to the demo
 */
export const makeTasks = ({ redis, locks, tell }) => ({
  ...saleTasks(redis, locks),
  ...treeTasks(redis, locks, tell),
  ...holderTasks(locks, tell),
  ...rivalTasks(locks),
  ...paymentTasks(locks),
  ...scheduleTasks(locks, tell),
  close: async () => {
    await locks.close()
    await redis.quit()
  },
})

const saleTasks = (redis, locks) => {
  const buy = async (buyer, { stockKey, salesKey }) => {
    const from = nowMs()
    const stock = Number(await redis.get(stockKey))
    if (stock <= 0) return { from, to: nowMs(), bought: false }
    // Payment, a form, a slow service: whoever else reads the stock meanwhile sees the same number.
    await sleep(4 + Math.random() * 8)
    await redis.set(stockKey, stock - 1, 'PX', KEY_TTL_MS)
    await redis.pipeline().rpush(salesKey, buyer).pexpire(salesKey, KEY_TTL_MS).exec()
    return { from, to: nowMs(), bought: true }
  }
  const visit = async (buyer, { lockName, ...keys }) => {
    await sleep(Math.random() * 120)
    if (lockName === undefined) return buy(buyer, keys)
    return locks.getLock(lockName).withLock(() => buy(buyer, keys), { waitMs: STEP_LIMIT_MS })
  }
  return {
    /** Without a `lockName` the same buyers do the same unguarded. */
    sell: ({ buyers, ...place }) =>
      Promise.all(Array.from({ length: buyers }, (_, index) => visit(`${process.pid}-${index}`, place))),
  }
}

const treeTasks = (redis, locks, tell) => ({
  /** The count comes from the lock's hash in Redis, on the way in and again on the way out. */
  walk: async ({ lockName, tree }) => {
    const lock = locks.getLock(lockName)
    const visits = []
    const walk = ({ name, children = [] }, depth) =>
      lock.withLock(
        async ({ owner }) => {
          const count = async () => Number((await redis.hget(lockName, owner)) ?? 0)
          const visit = { name, owner, depth, countIn: await count(), countOut: 0 }
          visits.push(visit)
          tell('visit', visit)
          for (const child of children) await walk(child, depth + 1)
          visit.countOut = await count()
        },
        { waitMs: STEP_LIMIT_MS },
      )
    await walk(tree, 1)
    return { visits, leftOver: await redis.exists(lockName) }
  },
})

const holderTasks = (locks, tell) => {
  let leave = () => undefined
  locks.on('waiting', () => tell('waiting'))
  return {
    /** Takes the lock and never releases it. */
    hold: async ({ lockName }) => {
      const { owner } = await locks.getLock(lockName).acquire({ waitMs: STEP_LIMIT_MS })
      return { owner, at: nowMs() }
    },
    /** Waits its turn, works for `workMs`, and goes. */
    takeTurn: ({ lockName, workMs, waitMs }) =>
      locks.getLock(lockName).withLock(
        async ({ owner }) => {
          const from = nowMs()
          tell('entered', { owner, from })
          await sleep(workMs)
          return { from, to: nowMs() }
        },
        { waitMs },
      ),
    /** Works for `workMs`, says so, and keeps the lock until it is told to leave. */
    work: async ({ lockName, workMs }) => {
      const told = new Promise((resolve) => (leave = resolve))
      const hold = await locks.getLock(lockName).acquire({ waitMs: STEP_LIMIT_MS })
      const from = nowMs()
      let abortedAfterMs
      hold.signal.addEventListener('abort', () => (abortedAfterMs = nowMs() - from))
      tell('in', { owner: hold.owner, at: from })
      await sleep(workMs)
      tell('worked')
      await told
      const to = nowMs()
      return { to, abortedAfterMs, outcome: await hold.release() }
    },
    leave: () => leave(),
  }
}

const rivalTasks = (locks) => {
  let stopped = false
  const attempt = async (lockName) => {
    const at = nowMs()
    const lock = locks.getLock(lockName)
    const gotIn = await lock.tryLock()
    if (gotIn) await lock.unlock()
    return { at, gotIn }
  }
  return {
    attempt: ({ lockName }) => attempt(lockName),
    /** Tries again and again until it is told to stop. */
    rival: async ({ lockName, everyMs }) => {
      const attempts = []
      while (!stopped) {
        attempts.push(await attempt(lockName))
        await sleep(everyMs)
      }
      return attempts
    },
    stopRival: () => void (stopped = true),
  }
}
