import { once } from 'node:events'
import { clearInterval, setInterval } from 'node:timers'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { serveWorker } from '@holdfast/testing'
import { Redis } from 'ioredis'
import { nowMs } from '../shared-clock.mjs'

const TICK_MS = 10

let redis
let locks
let settings
let callers = []
let stall = 0
let ticker

/** One caller: notes who it is, and when, in a list in Redis while the lock is its own. */
const caller = () => {
  const leaving = new globalThis.AbortController()
  const { lock, served, holdMs } = settings
  const work = async (hold) => {
    await redis.rpush(served, `${hold.owner} ${nowMs()}`)
    if (holdMs > 0) await sleep(holdMs)
    return 'served'
  }
  const outcome = locks
    .getFairLock(lock)
    .withLock(work, { signal: leaving.signal })
    .catch((error) => (error === leaving.signal.reason ? 'aborted' : `${error.name}: ${error.message}`))
  return { leaving, outcome }
}

const watchStalls = () => {
  let last = nowMs()
  ticker = setInterval(() => {
    stall = Math.max(stall, nowMs() - last - TICK_MS)
    last = nowMs()
  }, TICK_MS)
}

serveWorker({
  /** Gives its client id. */
  async begin(wanted) {
    settings = wanted
    redis = new Redis(settings.url)
    locks = await LockClient.connect(redis, {
      resyncInterval: settings.resyncMs,
      lockWatchdogTimeout: settings.leaseMs,
      localPassing: settings.localPassing,
      bareCalls: 'allow',
    })
    locks.on('lost', () => undefined)
    watchStalls()
    return locks.clientId
  },

  stand(count) {
    callers.push(...Array.from({ length: count }, caller))
  },

  /** Takes the wish to wait from one of them; it may have been served already. */
  abort: (index) => callers.at(index).leaving.abort(new Error('left')),

  /** How many came to which end, and for how long this process stood still at most. */
  async finish() {
    const ends = {}
    for (const { outcome } of callers) {
      const end = await outcome
      ends[end] = (ends[end] ?? 0) + 1
    }
    callers = []
    return { ends, stallMs: stall }
  },

  async close() {
    clearInterval(ticker)
    await locks.close()
    const ended = once(redis, 'end')
    redis.disconnect()
    await ended
  },
})
