import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisServer } from '@holdfast/faults/harness'

const POLL_MS = 100
const LINE_MS = 500
// Latches, results and what an election keeps end by themselves; the counters of fenced locks stay on purpose.
const EXPECTED = /^(holdfast:(latch|terms|election|share|result)|redisson_lock_token):/
// They end with the lease of readers that were killed, a moment after the last release, or when nobody adopts them.
const SOON_GONE = /:rwlock_timeout:\d+$|^holdfast:line:|^journey:/

/** When a plain lock was last left free: it ends by itself, or with the next release. */
const isMark = async (redis: RedisServer, key: string): Promise<boolean> =>
  key.startsWith('holdfast:line:') && String(await redis.command('ZRANGE', key, '0', '-1')) === 'left-free'

async function keysLeft(redis: RedisServer): Promise<string[]> {
  const left: string[] = []
  for (const key of (await redis.command('KEYS', '*')) as string[]) {
    if (!EXPECTED.test(key) && !(await isMark(redis, key))) left.push(key)
  }
  return left
}

/** Keys that a run left in Redis, for the event `end`. */
export const leftBehind = async (
  redis: RedisServer,
  leaseMs: number,
): Promise<{ keys: string[]; channels: string[]; timers: number }> => {
  const channels = (await redis.command('PUBSUB', 'CHANNELS')) as string[]
  const endsAt = performance.now() + leaseMs + LINE_MS
  let keys = await keysLeft(redis)
  while (keys.some((key) => SOON_GONE.test(key)) && performance.now() < endsAt) {
    await sleep(POLL_MS)
    keys = await keysLeft(redis)
  }
  return { keys, channels, timers: 0 }
}
