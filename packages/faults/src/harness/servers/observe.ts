import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisServer } from './redis-server.js'

const LIMIT_MS = 20_000
const PERIOD_MS = 20
const SHOWN_LINES = 15

/**
 * Looks again and again until `look` does not throw, and gives its result. What `look` throws says what is
 * still amiss; when it does so for 20 s, the last reason and the ends of the servers' logs are the error.
 */
export const observe = async <T>(
  what: string,
  servers: readonly RedisServer[],
  look: () => Promise<T>,
): Promise<T> => {
  const deadlineMs = performance.now() + LIMIT_MS
  for (;;) {
    try {
      return await look()
    } catch (error) {
      if (performance.now() > deadlineMs) {
        const reason = error instanceof Error ? error.message : String(error)
        const logs = servers.map(endOfLog).join('\n')
        const message = `${what}: not so within ${LIMIT_MS} ms: ${reason}\n${logs}`
        throw new Error(message, { cause: error })
      }
    }
    await sleep(PERIOD_MS)
  }
}

/** Makes `look` of `observe` look again. */
export const expectState = (holds: boolean, otherwise: string): void => {
  if (!holds) throw new Error(otherwise)
}

const endOfLog = (server: RedisServer): string => {
  const lines = server.output.trimEnd().split('\n').slice(-SHOWN_LINES)
  return [`--- ${server.url} (${server.running ? 'running' : 'not running'})`, ...lines].join('\n')
}
