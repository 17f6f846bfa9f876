import type { RedisServer } from './redis-server.js'
import { expectState } from './observe.js'

/** A node as another one, or it itself, sees it. */
export interface ClusterMember {
  readonly id: string
  readonly port: number
  readonly flags: readonly string[]
  /** The primary of this replica. */
  readonly primaryId: string | undefined
  readonly epoch: number
  readonly connected: boolean
  /** First and last slot of each range. */
  readonly slots: readonly (readonly [number, number])[]
}

/** All nodes that `server` knows, itself included. */
export const membersSeenBy = async (server: RedisServer): Promise<ClusterMember[]> => {
  const lines = String(await server.command('CLUSTER', 'NODES')).split('\n')
  return lines.filter((line) => line !== '').map(parseMember)
}

const parseMember = (line: string): ClusterMember => {
  const [id = '', address = '', flags = '', primaryId, , , epoch, link, ...slots] = line.split(' ')
  return {
    id,
    port: Number(/:(\d+)(@|,|$)/.exec(address)?.[1]),
    flags: flags.split(',').filter((flag) => flag !== 'myself'),
    primaryId: primaryId === '-' ? undefined : primaryId,
    epoch: Number(epoch),
    connected: link === 'connected',
    // In brackets are slots under way, which belong to nobody else yet.
    slots: slots.filter((range) => !range.startsWith('[')).map(parseRange),
  }
}

const parseRange = (range: string): [number, number] => {
  const [first, last = first] = range.split('-').map(Number)
  return [Number(first), Number(last)]
}

export const owns = (member: ClusterMember, slot: number): boolean =>
  member.slots.some(([first, last]) => first <= slot && slot <= last)

/**
 * What all `servers` agree upon: who is primary of which slots, and who is whose replica.
 * @throws when they do not agree, one of them finds the cluster down or another one of them unreachable
 */
export const agreedMembers = async (servers: readonly RedisServer[]): Promise<ClusterMember[]> => {
  const views = await Promise.all(servers.map(membersSeenBy))
  const [first = [], ...rest] = views
  expectState(
    rest.every((view) => gist(view) === gist(first)),
    'the nodes do not agree',
  )
  for (const { port } of servers) {
    const healthy = views.every((view) => view.some((member) => member.port === port && isHealthy(member)))
    expectState(healthy, `the node at port ${port} is not known to all as healthy`)
  }
  await Promise.all(servers.map(expectStateOk))
  return first
}

const isHealthy = ({ connected, flags }: ClusterMember): boolean =>
  connected && flags.length === 1 && (flags[0] === 'master' || flags[0] === 'slave')

const gist = (view: readonly ClusterMember[]): string => {
  const lines = view.map(
    ({ id, port, primaryId = '-', slots }) => `${id} ${port} ${primaryId} ${slots.join(' ')}`,
  )
  return lines.sort().join('\n')
}

const expectStateOk = async (server: RedisServer): Promise<void> => {
  const info = String(await server.command('CLUSTER', 'INFO'))
  expectState(/^cluster_state:ok\r?$/m.test(info), `${server.url} finds the cluster down`)
}
