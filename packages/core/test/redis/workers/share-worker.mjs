import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { getShare } from '@holdfast/core/share'
import { emit, serveWorker } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'

let locks
let redis
let share
let calls

serveWorker({
  async begin({ url, clientName, options, leaseMs = 30_000 }) {
    redis = new Redis(url, { connectionName: clientName })
    // A look that no message asks for would be another command.
    const settings = { clientName, resyncInterval: 60_000, lockWatchdogTimeout: leaseMs }
    locks = await LockClient.connect(redis, settings)
    share = getShare(locks, 'fleet', options)
  },
  /** Begins so many calls; the function that runs waits for the value of a key. */
  call({ key, count }) {
    const task = async () => {
      emit('running')
      for (;;) {
        const value = await redis.get(`${key}:end`)
        if (value !== null) return value
        await sleep(20)
      }
    }
    calls = Array.from({ length: count }, () => share.runForResult(key, task))
    calls.forEach((each) => each.catch(() => undefined))
  },
  async results() {
    const settled = await Promise.allSettled(calls)
    return settled.map(({ value, reason }) => (value ? { value: value.value } : { error: reason.code }))
  },
  async finish() {
    await locks.close()
    redis.disconnect()
  },
})
