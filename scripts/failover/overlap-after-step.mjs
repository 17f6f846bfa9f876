import { LockClient } from '@holdfast/core'
import { Redis } from 'ioredis'

const LEASE_MS = 3_000
const FIXED_LEASE_MS = 8_000

/**
 * Sets the clock of a Redis forward, and has somebody take what is held at once: for how long does the former holder
 * believe in it, beside the next one?
 *
 * @param {{ server: import('@holdfast/testing').RedisServer, step: (seconds: number) => Promise<void> }} stepped
 * @param {number} seconds
 * @param {{ allowanceMs: number }} promised
 * @returns {Promise<{ text: string, broken: number }>}
 */
export const observeOverlap = async ({ server, step }, seconds, { allowanceMs }) => {
  const connections = [new Redis(server.url), new Redis(server.url)]
  const options = { lockWatchdogTimeout: LEASE_MS, bareCalls: 'allow' }
  const [holder, next] = await Promise.all(connections.map((redis) => LockClient.connect(redis, options)))
  try {
    const holds = [
      await holder.getLock('renewed').acquire(),
      await holder.getLock('fixed').acquire({ leaseMs: FIXED_LEASE_MS }),
    ]
    await step(seconds)
    const beliefs = await Promise.all(holds.map((hold) => beliefBeside(hold, next)))
    const limits = [LEASE_MS / 3 + allowanceMs, FIXED_LEASE_MS]
    const lines = beliefs.map((ms, i) => {
      const what = i === 0 ? `renewed, lease of ${LEASE_MS} ms` : `fixed lease of ${FIXED_LEASE_MS} ms`
      return `  ${what.padEnd(27)} believed in for ${Math.round(ms)} ms beside the next holder`
    })
    return {
      text: [`the clock of Redis goes ${seconds} s forward, and the next comes at once`, ...lines].join('\n'),
      broken: beliefs.filter((ms, i) => !(ms <= limits[i])).length,
    }
  } finally {
    await Promise.all([holder, next].map((client) => client.close({ graceMs: 0 })))
    connections.forEach((redis) => redis.disconnect())
  }
}

const beliefBeside = async (hold, next) => {
  const told = new Promise((resolve) => hold.signal.addEventListener('abort', resolve, { once: true }))
  await next.getLock(hold.lockName).acquire()
  const takenAt = performance.now()
  if (!hold.signal.aborted) await told
  return performance.now() - takenAt
}
