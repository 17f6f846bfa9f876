import { setTimeout as sleep } from 'node:timers/promises'
import { RedisServer, WorkerProcess } from '@holdfast/faults/harness'
import { connect, optionsFor } from '../connection.mjs'
import { RedisInfo } from '../redis-info.mjs'

const WORKER = new URL('./worker.mjs', import.meta.url)
const NAME = 'order:42'
const TTL_MS = 30_000
const SETTLE_MS = 2_000
const MEASURE_MS = 10_000
// More at once would start so slowly that the first count as hung.
const STARTED_AT_ONCE = 10

/**
 * So many processes wait for one string lock of half a minute that somebody else has: what that costs Redis while nothing
 * happens.
 *
 * @param {number} count
 * @param {{ interrupted: AbortSignal, log: (line: string) => void }} how
 * @returns {Promise<{ commandsPerSecond: number, share: number }>} EVALSHA alone; the share of a core that Redis took
 */
export const behindAString = async (count, { interrupted, log }) => {
  const redis = await RedisServer.start()
  const connection = await connect(optionsFor(redis.url, false))
  const workers = []
  try {
    while (workers.length < count) {
      interrupted.throwIfAborted()
      const few = Math.min(STARTED_AT_ONCE, count - workers.length)
      workers.push(...(await Promise.all(Array.from({ length: few }, () => WorkerProcess.start(WORKER)))))
      log(`${workers.length} of ${count} processes have started`)
    }
    const options = { foreignLocks: 'wait' }
    await Promise.all(workers.map((each) => each.call('begin', { url: redis.url, options })))
    await redis.command('SET', NAME, 'of somebody else', 'PX', String(TTL_MS))
    await Promise.all(workers.map((each) => each.call('wait', { name: NAME })))
    await sleep(SETTLE_MS, undefined, { signal: interrupted })
    const before = await figuresOf(connection)
    await sleep(MEASURE_MS, undefined, { signal: interrupted })
    const after = await figuresOf(connection)
    const seconds = (after.atMs - before.atMs) / 1_000
    return {
      commandsPerSecond: (after.commands - before.commands) / seconds,
      share: (after.cpuMicros - before.cpuMicros) / 1e6 / seconds,
    }
  } finally {
    connection.disconnect()
    await Promise.all(workers.map((each) => each.kill()))
    await redis.stop()
  }
}

const figuresOf = async (connection) => {
  const info = new RedisInfo(connection)
  const [calls, cpuMicros] = await Promise.all([info.calls(), info.cpuMicros()])
  return { atMs: performance.now(), commands: calls.get('evalsha') ?? 0, cpuMicros }
}
