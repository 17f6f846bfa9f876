// Each library as its README takes one lock, waiting for as long as it takes, on one Redis.
import { Redis } from 'ioredis'

const WAIT_MS = 10

const connected = (url) => {
  const redis = new Redis(url)
  redis.on('error', () => undefined)
  return redis
}

/**
 * `acquire(name)` of what `open` gives resolves with the function that unlocks. `keyOf`: the key in Redis.
 *
 * @type {Record<string, { keyOf?: (name: string) => string,
 *   open: (url: string, options: { leaseMs: number }) =>
 *     Promise<{ acquire: (name: string) => Promise<() => Promise<unknown>>, close: () => Promise<unknown> }> }>}
 */
export const LIBRARIES = {
  'redlock-5': {
    async open(url, { leaseMs }) {
      const { default: Redlock } = await import('redlock')
      const redis = connected(url)
      const redlock = new Redlock([redis], { retryCount: -1, retryDelay: WAIT_MS, retryJitter: WAIT_MS / 2 })
      redlock.on('error', () => undefined)
      return {
        acquire: async (name) => {
          const lock = await redlock.acquire([name], leaseMs)
          return () => lock.release()
        },
        close: () => redlock.quit(),
      }
    },
  },
  'redlock-4': {
    async open(url, { leaseMs }) {
      const { default: Redlock } = await import('redlock4')
      const redis = connected(url)
      const redlock = new Redlock([redis], { retryCount: -1, retryDelay: WAIT_MS, retryJitter: WAIT_MS / 2 })
      redlock.on('clientError', () => undefined)
      return {
        acquire: async (name) => {
          const lock = await redlock.lock(name, leaseMs)
          return () => lock.unlock()
        },
        close: () => redlock.quit(),
      }
    },
  },
  'redis-semaphore': {
    keyOf: (name) => `mutex:${name}`,
    async open(url, { leaseMs }) {
      const { Mutex } = await import('redis-semaphore')
      const redis = connected(url)
      return {
        acquire: async (name) => {
          const mutex = new Mutex(redis, name, {
            lockTimeout: leaseMs,
            acquireTimeout: 600_000,
            retryInterval: WAIT_MS,
            refreshInterval: 0,
          })
          await mutex.acquire()
          return () => mutex.release()
        },
        close: () => redis.quit(),
      }
    },
  },
  'redlock-universal': {
    async open(url, { leaseMs }) {
      const { createLock, IoredisAdapter } = await import('redlock-universal')
      const redis = connected(url)
      const adapter = new IoredisAdapter(redis)
      const retries = { retryAttempts: 1_000_000, retryDelay: WAIT_MS }
      return {
        acquire: async (name) => {
          const lock = createLock({ adapter, key: name, ttl: leaseMs, ...retries })
          const handle = await lock.acquire()
          return () => lock.release(handle)
        },
        close: () => redis.quit(),
      }
    },
  },
}
