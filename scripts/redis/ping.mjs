import { Redis } from 'ioredis'

/**
 * Resolves when the Redis at `url` (redis:// or rediss://, with or without user and password) answers PING;
 * otherwise rejects with the reason, also when there is no answer within `limitMs` milliseconds.
 *
 * @param {string} url
 * @param {number} [limitMs]
 */
export const ping = async (url, limitMs = 5_000) => {
  const limits = { connectTimeout: limitMs, commandTimeout: limitMs }
  const redis = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    enableReadyCheck: false,
    ...limits,
  })
  let reason
  redis.on('error', (error) => (reason ??= error))
  try {
    await redis.connect()
    await redis.ping()
  } catch (error) {
    // A connection that has ended is what the caller sees; the event says why.
    throw reason ?? error
  } finally {
    redis.disconnect()
  }
}
