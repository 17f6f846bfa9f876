import { connect, optionsFor } from './connection.mjs'

/** Everything is noted that takes as long as this, µs. */
const FROM_MICROS = 50
const LENGTH = 20_000
const [THRESHOLD, ENTRIES] = ['slowlog-log-slower-than', 'slowlog-max-len']

/**
 * The longest time a script kept Redis from anything else while `use` ran, by its slow log.
 *
 * @template T
 * @param {string} url
 * @param {() => Promise<T>} use
 * @returns {Promise<{ result: T, longestMs: number | undefined }>} undefined where the server may not be configured
 */
export const slowestDuring = async (url, use) => {
  const redis = await connect(optionsFor(url, false))
  try {
    const before = await settings(redis).catch(() => undefined)
    if (before === undefined) return { result: await use(), longestMs: undefined }
    await redis.config('SET', THRESHOLD, FROM_MICROS, ENTRIES, LENGTH)
    await redis.slowlog('RESET')
    try {
      const result = await use()
      const entries = await redis.slowlog('GET', LENGTH)
      const scripts = entries.filter(([, , , [command]]) => /^eval/i.test(command))
      return { result, longestMs: Math.max(0, ...scripts.map(([, , micros]) => micros)) / 1_000 }
    } finally {
      await redis.config('SET', THRESHOLD, before.threshold, ENTRIES, before.length)
    }
  } finally {
    redis.disconnect()
  }
}

const settings = async (redis) => {
  const of = async (name) => Object.values(Object.fromEntries(pairs(await redis.config('GET', name))))[0]
  return { threshold: await of(THRESHOLD), length: await of(ENTRIES) }
}

/** RESP3 gives a map, RESP2 a list. */
const pairs = (reply) =>
  Array.isArray(reply)
    ? reply.flatMap((key, i) => (i % 2 === 0 ? [[key, reply[i + 1]]] : []))
    : Object.entries(reply)
