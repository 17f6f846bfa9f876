import type { RedisServer } from '@holdfast/faults/harness'

/** How many scripts a server has run since it began, or since its statistics were reset. */
export const scriptsOf = async (redis: RedisServer): Promise<number> => {
  const stats = await redis.commandStats()
  return (stats.get('evalsha') ?? 0) + (stats.get('eval') ?? 0)
}

/** Calls of scripts by their hash, and the microseconds that Redis spent in them, by its own count. */
export const scriptStatsOf = async (redis: RedisServer): Promise<{ calls: number; usec: number }> => {
  const info = String(await redis.command('INFO', 'commandstats'))
  const [, calls = 0, usec = 0] = /^cmdstat_evalsha:calls=(\d+),usec=(\d+)/m.exec(info) ?? []
  return { calls: Number(calls), usec: Number(usec) }
}
