// Common parts of the commands of the bench: how they begin, what they measure on, and how they end.
import { UsageError } from '../../../scripts/command-line.mjs'
import { interruption } from '../../../scripts/interruption.mjs'
import { provideRedis } from '../../../scripts/redis/provide-redis.mjs'
import { connectToWatch, RedisGoneError } from './connection.mjs'
import { RedisInfo } from './redis-info.mjs'

const LAST_GRACE_MS = 10_000

export const log = (line) => console.error(line)

/**
 * Runs a command with its arguments, or prints its usage. Exit code: 2, the arguments are wrong; 1, it has failed; after a
 * signal, the signal's.
 *
 * @template {{ help?: boolean }} W
 * @param {string} usage
 * @param {(args: string[]) => W} parseArguments
 * @param {(wanted: W, interrupted: AbortSignal) => Promise<void>} main ends when it is interrupted
 */
export const runCommand = async (usage, parseArguments, main) => {
  const interrupted = interruption()
  // A library that waits for something that never comes shall not keep the bench from ending.
  interrupted.addEventListener('abort', () => setTimeout(() => process.exit(), LAST_GRACE_MS).unref())
  try {
    const wanted = parseArguments(process.argv.slice(2))
    if (wanted.help) console.log(usage)
    else await main(wanted, interrupted)
  } catch (error) {
    if (error instanceof UsageError) console.error(`${error.message}\n\n${usage}`)
    else console.error(interrupted.aborted ? interrupted.reason.message : error)
    process.exitCode ||= error instanceof UsageError ? 2 : 1
    // Without the server, clients go on trying to connect, and callers go on waiting.
    if (error instanceof RedisGoneError) process.exit()
  }
}

/**
 * A Redis for `use`: the one of REDIS_URL, or one that ends with it. Rejects when the server has gone meanwhile.
 *
 * @template T
 * @param {AbortSignal} signal
 * @param {(how: { url: string, info: RedisInfo, signal: AbortSignal, log: (line: string) => void }) => Promise<T>} use
 * @returns {Promise<T>}
 */
export const withRedis = async (signal, use) => {
  const redis = await provideRedis({ log: (line) => log(`redis: ${line}`) })
  try {
    log(`redis: ${redis.how}`)
    signal.throwIfAborted()
    const { redis: admin, gone } = await connectToWatch(redis.url)
    try {
      return await Promise.race([gone, use({ url: redis.url, info: new RedisInfo(admin), signal, log })])
    } finally {
      admin.disconnect()
    }
  } finally {
    await redis.stop()
  }
}
