import { RedisServer } from './redis-server.js'
import type { RedisServerOptions } from './redis-server.js'

/** Common parts of all topologies. */
export interface TopologyOptions {
  /** More arguments for every data server, as on its command line. */
  readonly args?: readonly string[]
  /** Server program; by default that of HOLDFAST_REDIS_SERVER, else redis-server or valkey-server from the PATH. */
  readonly binary?: string
}

/** @throws RangeError unless `count` is a whole number of at least `least` */
export const checkCount = (what: string, count: number, least: number): void => {
  if (Number.isInteger(count) && count >= least) return
  throw new RangeError(`${what}: a whole number of at least ${least} is needed, not ${count}`)
}

/** Starts `count` servers at once; when one does not start, the others are stopped before this rejects. */
export const startServers = async (count: number, options: RedisServerOptions): Promise<RedisServer[]> => {
  const starts = Array.from({ length: count }, () => RedisServer.start(options))
  const results = await Promise.allSettled(starts)
  const started = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const failure = results.find((result) => result.status === 'rejected')
  if (failure === undefined) return started
  await stopServers(started)
  throw failure.reason
}

/** Ends all of them, also paused ones, and removes their folders. */
export const stopServers = async (servers: readonly RedisServer[]): Promise<void> => {
  const stopped = servers.map(async (server) => {
    // On SIGTERM a primary would first wait for replicas that lag behind, which may be the point of the test.
    await server.kill()
    await server.stop()
  })
  await Promise.all(stopped)
}

/** @throws when there is no server with that port among them */
export const serverAt = (servers: readonly RedisServer[], port: number): RedisServer => {
  const server = servers.find((each) => each.port === port)
  if (server === undefined) throw new Error(`port ${port} belongs to no server of this topology`)
  return server
}

/** @throws when `server` is of another topology */
export const checkMember = (servers: readonly RedisServer[], server: RedisServer): void => {
  if (!servers.includes(server)) throw new Error(`${server.url} is no data server of this topology`)
}

export const running = (servers: readonly RedisServer[]): RedisServer[] =>
  servers.filter((server) => server.running)
