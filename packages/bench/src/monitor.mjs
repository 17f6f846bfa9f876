import { connect, optionsFor } from './connection.mjs'

/**
 * What clients send while `use` runs; what scripts call is not counted.
 *
 * @param {string} url
 * @param {(args: string[]) => boolean} isCounted
 * @param {() => Promise<unknown>} use
 * @returns {Promise<Map<string, number>>} how often each command was sent
 */
export const commandsDuring = async (url, isCounted, use) => {
  const redis = await connect(optionsFor(url, false))
  const monitor = await redis.monitor()
  const counts = new Map()
  monitor.on('monitor', (_time, args, source) => {
    if (source === 'lua' || !isCounted(args)) return
    const name = args[0].toLowerCase()
    counts.set(name, (counts.get(name) ?? 0) + 1)
  })
  try {
    await use()
    return counts
  } finally {
    monitor.disconnect()
    redis.disconnect()
  }
}
