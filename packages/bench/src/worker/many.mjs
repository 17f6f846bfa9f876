import { monitorEventLoopDelay } from 'node:perf_hooks'
import { LockClient } from '@holdfast/core'
import { connect, optionsFor } from '../connection.mjs'

const AT_ONCE = 500
let delays

/** How so many locks are taken and kept, each with the lease that was asked for. */
const HOLDERS = {
  async Holdfast({ url, leaseMs }) {
    const redis = await connect(optionsFor(url, false))
    const locks = await LockClient.connect(redis, { lockWatchdogTimeout: leaseMs, bareCalls: 'allow' })
    const state = { lost: 0 }
    locks.on('lost', () => (state.lost += 1))
    const take = (name) => locks.getLock(name).acquire()
    return { state, take, close: () => locks.close({ graceMs: 0 }).then(() => redis.disconnect()) }
  },
  async 'redis-semaphore Mutex'({ url, leaseMs }) {
    const { Mutex } = await import('redis-semaphore')
    const redis = await connect(optionsFor(url, false))
    const state = { lost: 0 }
    const onLockLost = () => (state.lost += 1)
    const held = []
    const take = async (name) => {
      const mutex = new Mutex(redis, name, { lockTimeout: leaseMs, onLockLost })
      await mutex.acquire()
      held.push(mutex)
    }
    const close = async () => {
      await Promise.all(held.map((mutex) => mutex.release()))
      redis.disconnect()
    }
    return { state, take, close }
  },
  async 'node-redisson'({ url, leaseMs }) {
    const { Redisson } = await import('node-redisson')
    const options = optionsFor(url, false)
    const redisson = new Redisson({ redis: { options }, lockWatchdogTimeout: BigInt(leaseMs) })
    // It does not tell of a lost lock; missing keys are counted at the end.
    const held = []
    const take = async (name) => {
      const lock = redisson.getLock(name)
      await lock.lock()
      held.push(lock)
    }
    const close = async () => {
      await Promise.all(held.map((lock) => lock.unlock().catch(() => undefined)))
      await redisson.quit()
    }
    return { state: { lost: 0 }, take, close }
  },
}

let holder

export const takeMany = async ({ who, url, leaseMs, names }) => {
  holder = await HOLDERS[who]({ url, leaseMs })
  for (let i = 0; i < names.length; i += AT_ONCE)
    await Promise.all(names.slice(i, i + AT_ONCE).map(holder.take))
}

export const startCycle = () => {
  delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  return process.cpuUsage()
}

export const endCycle = (before) => {
  delays.disable()
  const { user, system } = process.cpuUsage(before)
  // The histogram counts the time between its own ticks.
  return { cpuMicros: user + system, stallMs: delays.max / 1e6 - 1, lost: holder.state.lost }
}

export const letAllGo = () => holder.close()
