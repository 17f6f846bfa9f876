import type { RedisServer } from './redis-server.js'
import { agreedMembers, membersSeenBy } from './cluster-state.js'
import { expectState, observe } from './observe.js'
import { inSync } from './replication-state.js'

export const SLOTS = 16_384

/**
 * Makes a cluster of empty nodes: the first `primaries` share the slots evenly, the rest become replicas of
 * one after another. Resolves when all nodes agree and all replicas are in sync.
 */
export const assembleCluster = async (nodes: readonly RedisServer[], primaries: number): Promise<void> => {
  const leaders = nodes.slice(0, primaries)
  await Promise.all(leaders.map((node, i) => giveSlots(node, i, primaries)))
  await Promise.all(nodes.map((node, i) => meetLater(node, i, nodes)))
  await observe('nodes know each other', nodes, () => expectAcquainted(nodes))
  const following = nodes.slice(primaries).map(async (replica, i) => {
    const leader = leaders[i % primaries] as RedisServer
    await replica.command('CLUSTER', 'REPLICATE', String(await leader.command('CLUSTER', 'MYID')))
    return { leader, replica }
  })
  const pairs = await Promise.all(following)
  for (const leader of leaders) {
    await inSync(
      leader,
      pairs.filter((pair) => pair.leader === leader).map((pair) => pair.replica),
    )
  }
  await observe('cluster state ok', nodes, () => agreedMembers(nodes))
}

const giveSlots = async (node: RedisServer, index: number, primaries: number): Promise<void> => {
  const first = Math.floor((index * SLOTS) / primaries)
  const end = Math.floor(((index + 1) * SLOTS) / primaries)
  const slots = Array.from({ length: end - first }, (_, i) => first + i)
  // ADDSLOTSRANGE came with version 7.
  await node.command('CLUSTER', 'ADDSLOTS', ...slots)
}

const meetLater = async (node: RedisServer, index: number, nodes: readonly RedisServer[]): Promise<void> => {
  // Nodes that start with the same epoch would have to sort that out first.
  await node.command('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
  // Each one: by gossip alone it would take some seconds until everybody knows everybody.
  for (const other of nodes.slice(index + 1)) await node.command('CLUSTER', 'MEET', other.host, other.port)
}

const expectAcquainted = async (nodes: readonly RedisServer[]): Promise<void> => {
  for (const node of nodes) {
    const seen = await membersSeenBy(node)
    const known = seen.filter(({ flags, connected }) => connected && flags.join() === 'master')
    expectState(
      known.length === nodes.length && seen.length === nodes.length,
      `${node.url} knows ${known.length} nodes and ${seen.length - known.length} not yet`,
    )
  }
}
