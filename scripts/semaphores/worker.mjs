import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient, LockError } from '@holdfast/core'
import { serveWorker } from '@holdfast/testing'
import { Redis } from 'ioredis'
import { openHistory } from '../torture/history-file.mjs'
import { seededRandom } from '../torture/random.mjs'
import { Caller } from './caller.mjs'
import { Truth } from './truth.mjs'
import { Use } from './use.mjs'

// So long that what is sent again is there before the last of them.
const LONGEST_STEP_MS = 500

let settings
let random
let locks
let redis
let truth
let history
let callers = []
let running = []
let held = []
let uses = 0
const failures = []

const start = (names) => {
  const { name, callers: count, leaseMs, seed, permits } = settings
  callers = Array.from({ length: names.length > 0 ? count : 0 }, (_, i) => {
    const parts = { locks, names, truth, history, leaseMs, permits, random: seededRandom(seed * 100 + i) }
    return new Caller({ ...parts, name: `${name}/${i}/${(uses += 1)}` })
  })
  running = callers.map((caller) => caller.run().catch((error) => failures.push(error)))
}

const rest = async () => {
  callers.forEach((caller) => caller.stop())
  await Promise.all(running)
  if (failures.length > 0) throw failures[0]
}

const told = async (kinds, id, go) => {
  const [begin, failed] = kinds
  history.add(begin, id)
  try {
    history.add(await go(), id)
  } catch (error) {
    if (!(error instanceof LockError)) throw error
    history.add(failed, { ...id, code: error.code })
  }
}

const countDown = async (latch, id) => {
  await sleep(random.between(0, LONGEST_STEP_MS))
  await told(['count', 'count-failed'], id, async () => {
    await latch.countDown()
    return 'counted'
  })
}

const awaitOpen = (latch, id, waitMs) =>
  told(['await', 'await-failed'], id, async () => ((await latch.await({ waitMs })) ? 'passed' : 'closed'))

serveWorker({
  begin({ name, port, registerPort, file, leaseMs, resyncMs, locks: names, flows, seed, permits }) {
    settings = { name, leaseMs, seed, permits, callers: flows }
    random = seededRandom(seed)
    history = openHistory(file, name)
    const soon = { retryStrategy: () => 30, maxLoadingRetryTime: 50, disconnectTimeout: 50 }
    redis = new Redis({ host: '127.0.0.1', port, ...soon })
    redis.on('error', () => undefined)
    truth = new Truth(registerPort)
    locks = new LockClient(redis, {
      ...{ clientName: name, lockWatchdogTimeout: leaseMs, resyncInterval: resyncMs },
      ...{ commandTimeout: 400, unavailableTimeoutMs: 2_000, bareCalls: 'allow' },
    })
    // What was lost is in the history; nobody has to read it on the terminal.
    locks.on('lost', () => undefined)
    locks.on('release-failed', () => undefined)
    locks.on('renewal-failed', () => undefined)
    start(names)
  },

  /** Everybody comes to an end, and begins again with other names. */
  async round(names) {
    await rest()
    start(names)
  },

  rest,

  /** Some count the latch down and some wait for it. */
  async latch(name, { counts, waiters, waitMs }) {
    const latch = locks.getCountDownLatch(name)
    const id = (i) => ({ latch: name, call: `${settings.name}/${i}` })
    const ids = Array.from({ length: counts + waiters }, (_, i) => id(i))
    await Promise.all([
      ...ids.slice(0, counts).map((each) => countDown(latch, each)),
      ...ids.slice(counts).map((each) => awaitOpen(latch, each, waitMs)),
    ])
  },

  /** Takes permits and keeps them. Of those that end one is renewed, and the others have a lease. */
  async hold({ pool, seats, permits, leaseMs }) {
    const use = (name, count) => {
      uses += 1
      const what = { name, use: `${settings.name}/held#${uses}`, permits: count, waitMs: 0 }
      return new Use(history, what)
    }
    if (pool) {
      const ofPool = use(pool, permits)
      await locks.getSemaphore(pool).acquire(permits)
      ofPool.taken()
      held.push(() => ofPool.giveBack(() => locks.getSemaphore(pool).release(permits)))
    }
    for (let i = 0; seats && i < permits; i += 1) {
      const ofSeats = use(seats, 1)
      const terms = i === 0 ? { renew: true } : { leaseMs }
      const permit = await locks.getPermitExpirableSemaphore(seats).acquirePermit(terms)
      ofSeats.watch(permit)
      if (i === 0) {
        held.push(() => {
          ofSeats.trust(permit)
          return ofSeats.giveBack(() => permit.release())
        })
      }
    }
  },

  async giveBack() {
    await Promise.all(held.map((give) => give()))
    held = []
  },

  /** Nothing else of this process runs meanwhile. */
  block(ms) {
    const end = performance.now() + ms
    while (performance.now() < end);
  },

  progress: () => callers.reduce((sum, caller) => sum + caller.uses, 0),

  async finish() {
    await rest()
    await locks.close()
    // ioredis tells no end of a connection that it was about to open again.
    await redis.ping()
    const ended = once(redis, 'end')
    redis.disconnect()
    await ended
    await truth.close()
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    history.add('end', { timers })
    history.close()
  },
})
