import diagnostics from 'node:diagnostics_channel'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { LOCK_CHANNELS, LockClient } from '@holdfast/core'
import { serveWorker } from '@holdfast/testing'
import { Redis } from 'ioredis'
import { seededRandom } from '../torture/random.mjs'
import { Callers } from './callers.mjs'
import { Holders } from './holders.mjs'
import { KINDS } from './kinds.mjs'
import { heapInUse, timers, tracesIn } from './traces.mjs'

// A hold that is left behind must not end by itself before somebody looks.
const LEASE_MS = 600_000
// Long, so that a tick that nobody called off is still there when somebody looks.
const RESYNC_MS = 5_000
// A trace that is gone within a second of the last answer is none (I8).
const GRACE_MS = 1_000

let client
let redis
let parts
let callers
let holders
let timersBefore
let parked = 0
// Held without a command to Redis.
let passed = 0

serveWorker({
  async begin({ name, port, kind, passing, names, seed }) {
    redis = new Redis({ port })
    await once(redis, 'ready')
    client = await LockClient.connect(redis, {
      clientName: name,
      lockWatchdogTimeout: LEASE_MS,
      resyncInterval: RESYNC_MS,
      bareCalls: 'allow',
      localPassing: passing,
    })
    client.on('waiting', () => (parked += 1))
    diagnostics.subscribe(LOCK_CHANNELS.callEnded, ({ path }) => (passed += path === 'passed' ? 1 : 0))
    const lockOf = (lock) => KINDS[kind](client, lock)
    parts = { client, lockOf, names, random: seededRandom(seed) }
    callers = new Callers(parts)
    timersBefore = timers()
  },

  async wait(count) {
    await callers.wait(count)
    return { ...callers.figures, parked, passed }
  },

  hold() {
    holders = new Holders(parts)
    holders.start()
  },

  /** How many holds were told to their callers since `hold`. */
  stopHolding: () => holders.stop(),

  async traces() {
    const endsAt = performance.now() + GRACE_MS
    while (tracesIn(client, timersBefore).length > 0 && performance.now() < endsAt) await sleep(10)
    return tracesIn(client, timersBefore)
  },

  heap: () => heapInUse(),

  async close() {
    await client.close()
    const ended = once(redis, 'end')
    redis.disconnect()
    await ended
    return tracesIn(client, 0)
  },
})
