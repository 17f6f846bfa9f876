// One of those who take a lock in turns, hold it for a while, and think before they want it again.
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { Mutex as OurMutex } from '@holdfast/redis-semaphore'
import OurRedlock from '@holdfast/redlock'
import { connect, optionsFor } from '../connection.mjs'
import { LEASE_MS } from '../work.mjs'

const ofClient =
  (getLock, settings) =>
  async (redis, Client = LockClient) => {
    const locks = await Client.connect(redis, settings)
    return {
      flow: (name) => (during) => getLock(locks, name).withLock(during),
      close: () => locks.close({ graceMs: 0 }),
    }
  }

const byPair = (acquire, close) => ({
  flow: (name) => async (during) => {
    const release = await acquire(name)
    await during()
    await release()
  },
  close,
})

const redlockOf = (Redlock, redis) => {
  const redlock = new Redlock([redis], { retryCount: -1 })
  // It tells of each attempt that found the lock taken.
  redlock.on('error', () => undefined)
  return byPair(
    async (name) => {
      const lock = await redlock.acquire([name], LEASE_MS)
      return () => lock.release()
    },
    () => redlock.quit(),
  )
}

/** The last hold of all is lost: its client is closed. */
const ended = () => undefined

const mutexOf = (Mutex, redis) =>
  byPair(
    async (name) => {
      const mutex = new Mutex(redis, name, { acquireTimeout: 3_600_000, onLockLost: ended })
      await mutex.acquire()
      return () => mutex.release()
    },
    () => redis.quit(),
  )

export const PLAIN = 'Holdfast withLock'
export const POLLER = 'tryAcquire() every 5 ms'
export const EARLIER = 'the version before'

const plain = (locks, name) => locks.getLock(name)

/** Each at its defaults, but for one thing: nobody gives up. */
const KINDS = {
  [PLAIN]: ofClient(plain),
  "interop: 'none'": ofClient(plain, { interop: 'none' }),
  'pushedGrants: false': ofClient(plain, { pushedGrants: false }),
  'fair lock': ofClient((locks, name) => locks.getFairLock(name)),
  'fenced lock': ofClient((locks, name) => locks.getFencedLock(name)),
  'write lock': ofClient((locks, name) => locks.getReadWriteLock(name).writeLock()),
  '@holdfast/redlock': (redis) => redlockOf(OurRedlock, redis),
  '@holdfast/redis-semaphore': (redis) => mutexOf(OurMutex, redis),
  'redlock 5': async (redis) => redlockOf((await import('redlock')).default, redis),
  'redis-semaphore Mutex': async (redis) => mutexOf((await import('redis-semaphore')).Mutex, redis),
}

export const KIND_NAMES = Object.keys(KINDS)

const POLL_MS = 5

/** Those that are in company with others: each of a mixed company is a kind of its own. */
const IN_COMPANY = {
  [POLLER]: async (redis) => {
    const locks = await LockClient.connect(redis)
    return byPair(
      async (name) => {
        const lock = locks.getLock(name)
        let hold = await lock.tryAcquire()
        while (!hold) {
          await sleep(POLL_MS)
          hold = await lock.tryAcquire()
        }
        return () => hold.release()
      },
      () => locks.close({ graceMs: 0 }),
    )
  },
  [EARLIER]: async (redis, earlier) => ofClient(plain)(redis, (await import(earlier)).LockClient),
}

const opened = new Map()

/** @returns {Promise<number>} of connections, for nothing but an answer */
export const openTurns = async ({ url, kinds, earlier }) => {
  for (const kind of kinds) {
    const redis = await connect(optionsFor(url, false))
    const pairs = await (KINDS[kind]?.(redis) ?? IN_COMPANY[kind](redis, earlier))
    opened.set(kind, { redis, ...pairs })
  }
  return opened.size
}

/** @returns {Promise<{ turns: number, waits: number[] }>} ms; the last wait may have had no end */
export const takeTurns = async ({ kind, name, holdMs, thinkMs, ms }) => {
  const pair = opened.get(kind).flow(name)
  const waits = []
  let turns = 0
  let askedAt
  const over = performance.now() + ms
  const flow = async () => {
    while (performance.now() < over) {
      askedAt = performance.now()
      await pair(async () => {
        // Who has it after the end was kept waiting until then.
        if (performance.now() >= over) return
        waits.push(performance.now() - askedAt)
        askedAt = undefined
        turns += 1
        await sleep(holdMs)
      }).catch(() => {
        // A process that stood still for longer than its lease, or is closed: the turns say what became of it.
      })
      await sleep(thinkMs)
    }
  }
  await Promise.race([flow(), sleep(ms)])
  if (askedAt !== undefined) waits.push(over - askedAt)
  return { turns, waits }
}

export const closeTurns = async () => {
  for (const { redis, close } of opened.values()) {
    await close().catch(() => undefined)
    redis.disconnect()
  }
  opened.clear()
}
