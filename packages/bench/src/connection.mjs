import { Redis } from 'ioredis'

/**
 * Options of ioredis for a redis:// or rediss:// URL: node-redisson takes no URL, and all shall get the same.
 *
 * @param {string} url
 */
const addressOf = (url) => {
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1',
    port: Number(port || 6379),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(pathname.length > 1 ? { db: Number(pathname.slice(1)) } : {}),
    ...(protocol === 'rediss:' ? { tls: { servername: hostname } } : {}),
  }
}

/**
 * @param {string} url
 * @param {boolean | undefined} autoPipelining undefined: as ioredis has it by default
 */
export const optionsFor = (url, autoPipelining) => ({
  ...addressOf(url),
  ...(autoPipelining === undefined ? {} : { enableAutoPipelining: autoPipelining }),
})

/** The server has gone: what waits for it waits for longer than anybody wants to. */
export class RedisGoneError extends Error {}

/**
 * A connection that ends when the server does.
 *
 * @param {string} url
 * @returns {Promise<{ redis: Redis, gone: Promise<never> }>} `gone` rejects when the connection ends
 */
export const connectToWatch = async (url) => {
  const redis = await connect({ ...optionsFor(url), retryStrategy: () => null })
  const gone = new Promise((_, reject) => {
    redis.once('end', () => reject(new RedisGoneError('Redis has closed the connection.')))
  })
  gone.catch(() => undefined) // it ends with the bench too, when nobody listens any more
  return { redis, gone }
}

/** A connection that answers. */
export const connect = async (options) => {
  const redis = new Redis({ ...options, lazyConnect: true })
  await redis.connect()
  return redis
}
