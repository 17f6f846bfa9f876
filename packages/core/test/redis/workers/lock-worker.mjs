// A service of its own: one client, told what to do by the test. Runs against the built packages.
import { LockClient } from '@holdfast/core'
import { emit, serveWorker } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { setImmediate } from 'node:timers'
import { openCarrier } from './open-carrier.mjs'

const url = process.env.HOLDFAST_TEST_WORKER_REDIS
const redis = new Redis(url)
const carrier = await openCarrier(url)
const locks = await LockClient.connect(carrier.client, {
  bareCalls: 'allow',
  lockWatchdogTimeout: Number(process.env.HOLDFAST_TEST_WATCHDOG ?? 30_000),
  resyncInterval: Number(process.env.HOLDFAST_TEST_RESYNC ?? 1_000),
})
locks.on('lost', () => undefined)
const holds = new Map()

/** The view of a holder that looks right now. */
function look(lockName) {
  const hold = holds.get(lockName)
  const { aborted } = hold.signal
  const trusted = hold.trustedForMs
  let ensured = true
  try {
    hold.ensure()
  } catch {
    ensured = false
  }
  return { trusted, ensured, aborted }
}

const questions = {
  signal: (hold) => hold.signal,
  lossError: (hold) => hold.lossError,
  trustedForMs: (hold) => hold.trustedForMs,
  ensure: (hold) => hold.ensure(),
}

serveWorker({
  /** Adds to a counter in Redis in two steps: only exclusion makes the sum right. */
  async incrementAll(sets) {
    for (const lockNames of sets) {
      const members = lockNames.map((name) => locks.getLock(name))
      await locks.getMultiLock(...members).withLock(async (hold) => {
        const counters = lockNames.map((name) => `${name}:counter`)
        const values = await redis.mget(counters)
        hold.ensure()
        await redis.mset(counters.flatMap((counter, i) => [counter, Number(values[i]) + 1]))
      })
    }
  },
  async acquire(lockName, leaseMs) {
    const hold = await locks.getLock(lockName).acquire({ leaseMs })
    holds.set(lockName, hold)
    return hold.owner
  },
  async acquireFair(lockName) {
    const hold = await locks.getFairLock(lockName).acquire()
    holds.set(lockName, hold)
    return hold.owner
  },
  look,
  /** Has calls under way; tells what each came to, and whether the hold's signal had aborted when it resumed us. */
  async ask(lockName, otherName) {
    const hold = holds.get(lockName)
    const calls = {
      verify: hold.verify(),
      extend: hold.extend(500),
      another: locks.getLock(otherName).withLock(() => undefined),
    }
    const seen = (outcome) => ({ outcome, aborted: hold.signal.aborted })
    const answers = Object.entries(calls).map(async ([name, call]) => [
      name,
      await call.then(
        () => seen('resolved'),
        ({ code }) => seen(code),
      ),
    ])
    // Not before they are on the wire.
    setImmediate(() => emit('asked'))
    return Object.fromEntries(await Promise.all(answers))
  },
  release: (lockName) => holds.get(lockName).release(),
  acquirePermits: (name, permits) => locks.getSemaphore(name).acquire(permits),
  releasePermits: (name, permits) => locks.getSemaphore(name).release(permits),
  /** Blocks the event loop, then asks the hold one thing: tells whether a signal taken before has aborted by then. */
  block(lockName, ms, question) {
    const hold = holds.get(lockName)
    const { signal } = hold
    const end = performance.now() + ms
    while (performance.now() < end);
    try {
      questions[question](hold)
    } catch {
      // That is what `ensure` should say.
    }
    const { aborted } = signal
    return { ...look(lockName), aborted }
  },
  async close() {
    await locks.close({ graceMs: 0 })
    carrier.end()
    redis.disconnect()
  },
})
