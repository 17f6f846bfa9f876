import type { RedisServer } from './redis-server.js'
import { membersSeenBy, owns } from './cluster-state.js'

/**
 * Redis 7.0 counts the votes of an election for two node timeouts. A node that won one, became a replica again and loses
 * its primary within that time wins by these old votes: it claims the slot under an epoch older than that of `former`,
 * and is believed by nobody, for ever. With a new epoch its claim is the latest.
 */
export const settleStaleElection = async (
  servers: readonly RedisServer[],
  slot: number,
  former: RedisServer,
): Promise<void> => {
  for (const server of servers) {
    const view = await membersSeenBy(server)
    const own = view.find(({ port }) => port === server.port)
    const before = view.find(({ port }) => port === former.port)
    const isStale = own && before && owns(own, slot) && own.epoch < before.epoch
    if (isStale) await server.command('CLUSTER', 'BUMPEPOCH')
  }
}
