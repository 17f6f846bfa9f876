import type { RedisServer } from '@holdfast/testing'

/** How many scripts a server has run since it began, or since its statistics were reset. */
export const scriptsOf = async (redis: RedisServer): Promise<number> => {
  const stats = await redis.commandStats()
  return (stats.get('evalsha') ?? 0) + (stats.get('eval') ?? 0)
}
