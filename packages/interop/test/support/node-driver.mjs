// Holdfast by remote control: the same verbs as those of the Java driver, so that a test need not know which it has.
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { serveWorker } from '@holdfast/faults/harness'
import { Cluster, Redis } from 'ioredis'

const { url, watchdogMs, fairWaitMs, resyncMs, prefix, cluster } = JSON.parse(process.argv[2])
const connect = (options) => (cluster ? new Cluster([url], options) : new Redis(url, options))
const redis = connect(prefix === undefined ? {} : { keyPrefix: prefix })
const counters = connect({})
const locks = await LockClient.connect(redis, {
  ...(watchdogMs === undefined ? {} : { lockWatchdogTimeout: watchdogMs }),
  ...(fairWaitMs === undefined ? {} : { fairLockWaitTimeout: fairWaitMs }),
  ...(resyncMs === undefined ? {} : { resyncInterval: resyncMs }),
})
locks.on('lost', () => undefined)

/** Milliseconds of the clock that all processes of one machine share. */
const nowMs = () => Number(process.hrtime.bigint()) / 1e6

const threads = new Map()
const threadOf = (name) => {
  if (!threads.has(name)) threads.set(name, { thread: locks.thread(), turn: Promise.resolve() })
  return threads.get(name)
}

const find = (thread, kind, name) => {
  switch (kind) {
    case 'lock':
      return thread.getLock(name)
    case 'fair':
      return thread.getFairLock(name)
    case 'read':
      return thread.getReadWriteLock(name).readLock()
    case 'write':
      return thread.getReadWriteLock(name).writeLock()
    case 'spin':
      return thread.getSpinLock(name)
    case 'non-reentrant':
      return thread.getNonReentrantLock(name)
    case 'fenced':
      return thread.getFencedLock(name)
    case 'multi':
      return thread.getMultiLock(thread.getLock(name), thread.getLock(`${name}:second`))
    case 'semaphore':
      return locks.getSemaphore(name)
    case 'permits':
      return locks.getPermitExpirableSemaphore(name)
    case 'latch':
      return locks.getCountDownLatch(name)
    default:
      throw new Error(`No kind: ${kind}`)
  }
}

/** Takes a lock again and again, and counts in two steps that only the lock makes one. */
const contend = async (lock, { counter, forMs = 1_000, wait = 10_000, holdMs = 0, thinkMs = 0 }) => {
  const endsAt = nowMs() + forMs
  const result = { taken: 0, refused: 0, longestMs: 0 }
  while (nowMs() < endsAt) {
    const askedAt = nowMs()
    const hold = await lock.tryAcquire({ waitMs: wait })
    if (!hold) {
      result.refused += 1
      continue
    }
    result.longestMs = Math.max(result.longestMs, nowMs() - askedAt)
    await counters.set(counter, Number(await counters.get(counter)) + 1)
    result.taken += 1
    if (holdMs > 0) await sleep(holdMs)
    await hold.release()
    if (thinkMs > 0) await sleep(thinkMs)
  }
  return result
}

const lockVerbs = {
  lock: async (lock, { lease }) => void (await lock.lock(lease)),
  tryLock: (lock, { wait, lease }) => lock.tryLock(wait, lease),
  unlock: (lock) => lock.unlock(),
  forceUnlock: (lock) => lock.forceUnlock(),
  isLocked: (lock) => lock.isLocked(),
  holdCount: (lock) => lock.getHoldCount(),
  isHeld: (lock) => lock.isHeldByCurrentContext(),
  ttl: (lock) => lock.remainTimeToLive(),
  lockAndGetToken: async (lock) => Number(await lock.lockAndGetToken()),
  getToken: async (lock) => Number(await lock.getToken()),
  contend,
}

const semaphoreVerbs = {
  trySetPermits: (semaphore, { permits }) => semaphore.trySetPermits(permits),
  addPermits: (semaphore, { permits }) => semaphore.addPermits(permits),
  acquire: (semaphore, { permits = 1 }) => semaphore.acquire({ permits }),
  tryAcquire: (semaphore, { permits = 1, wait = 0 }) => semaphore.tryAcquire({ permits, waitMs: wait }),
  release: (semaphore, { permits = 1 }) => semaphore.release(permits),
  available: (semaphore) => semaphore.availablePermits(),
  drain: (semaphore) => semaphore.drainPermits(),
}

const permitVerbs = {
  trySetPermits: (semaphore, { permits }) => semaphore.trySetPermits(permits),
  acquire: (semaphore, { lease }) => semaphore.acquire({ leaseMs: lease }),
  tryAcquire: (semaphore, { wait = 0, lease }) => semaphore.tryAcquire({ waitMs: wait, leaseMs: lease }),
  release: (semaphore, { id }) => semaphore.release(id),
  tryRelease: (semaphore, { id }) => semaphore.tryRelease(id),
  available: (semaphore) => semaphore.availablePermits(),
  acquired: (semaphore) => semaphore.acquiredPermits(),
}

const latchVerbs = {
  trySetCount: (latch, { count }) => latch.trySetCount(count),
  countDown: (latch) => latch.countDown(),
  await: (latch, { wait }) => latch.await(wait === undefined ? {} : { waitMs: wait }),
  count: (latch) => latch.getCount(),
  delete: (latch) => latch.delete(),
}

const verbsOf = { semaphore: semaphoreVerbs, permits: permitVerbs, latch: latchVerbs }

serveWorker({
  /** Commands of one thread run one after another. */
  run({ thread: name, verb, kind, name: object, options }) {
    const { thread, turn } = threadOf(name)
    const run = async () => {
      const from = nowMs()
      const value = await (verbsOf[kind] ?? lockVerbs)[verb](find(thread, kind, object), options)
      return { value: value ?? null, from, to: nowMs() }
    }
    const answer = turn.then(run, run)
    threadOf(name).turn = answer.catch(() => undefined)
    return answer
  },
})
