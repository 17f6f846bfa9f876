import type { Redis } from 'ioredis'
import { batchScript } from '../../../src/scripts/batch.js'
import { acquireScript } from '../../../src/scripts/lock/acquire.js'

/** Longer than the longest pause of a waiter that has the default back-off. */
const WATCHED_MS = 250
const TRIES: readonly string[] = [acquireScript.sha1, batchScript.sha1]

/** Redis knows of nobody who waits for a spin lock. So it is watched: how often somebody asks for it in a while. */
export async function triesSeen(redis: Redis, name: string): Promise<number> {
  const monitor = await redis.monitor()
  let seen = 0
  monitor.on('monitor', (_time: string, words: string[]) => {
    seen += TRIES.includes(words[1] ?? '') && words.includes(name) ? 1 : 0
  })
  await new Promise((resolve) => setTimeout(resolve, WATCHED_MS))
  monitor.disconnect()
  return seen
}
