import type { RedisServer } from './redis-server.js'
import { RedisReplyError } from '../network/resp.js'
import { expectState } from './observe.js'

/** A group of servers as sentinels monitor it. */
export interface MonitoredGroup {
  readonly name: string
  readonly primary: RedisServer
  readonly quorum: number
  readonly downAfterMs: number
}

const FAIL_OVER_TIMEOUT_MS = 5_000
// Without these a sentinel sees a change of roles after up to 10 s and stays passive for 30 s after a pause.
const QUICK = ['info-period', 1_000, 'publish-period', 500, 'ask-period', 100, 'tilt-period', 1_000]

/** Makes `sentinel` watch the group. */
export const monitor = async (sentinel: RedisServer, group: MonitoredGroup): Promise<void> => {
  try {
    await sentinel.command('SENTINEL', 'DEBUG', ...QUICK)
  } catch (error) {
    // Before version 7 the periods are fixed, and everything takes longer.
    if (!(error instanceof RedisReplyError)) throw error
  }
  const { name, primary, quorum, downAfterMs } = group
  await sentinel.command('SENTINEL', 'MONITOR', name, primary.host, primary.port, quorum)
  for (const [option, value] of [
    ['down-after-milliseconds', downAfterMs],
    // A sentinel that lost an election waits for twice this time before it tries itself.
    ['failover-timeout', FAIL_OVER_TIMEOUT_MS],
    ['parallel-syncs', 100],
  ] as const) {
    await sentinel.command('SENTINEL', 'SET', name, option, value)
  }
}

/** @throws unless `sentinel` sees a healthy primary and that many linked replicas and other sentinels */
export const expectWholeGroup = async (
  sentinel: RedisServer,
  name: string,
  { replicas, others }: { readonly replicas: number; readonly others: number },
): Promise<void> => {
  const primary = fields(await sentinel.command('SENTINEL', 'MASTER', name))
  const flags = primary.get('flags')
  expectState(flags === 'master', `${sentinel.url} sees the primary as ${String(flags)}`)
  const linked = ((await sentinel.command('SENTINEL', 'SLAVES', name)) as unknown[]).filter((reply) => {
    const replica = fields(reply)
    // The role is the one that the server itself has told, which is older than its flags after a change.
    return (
      replica.get('flags') === 'slave' &&
      replica.get('role-reported') === 'slave' &&
      replica.get('master-link-status') === 'ok'
    )
  })
  expectState(linked.length === replicas, `${sentinel.url} sees ${linked.length} linked replicas`)
  const peers = ((await sentinel.command('SENTINEL', 'SENTINELS', name)) as unknown[]).filter(
    (reply) => fields(reply).get('flags') === 'sentinel',
  )
  expectState(peers.length === others, `${sentinel.url} sees ${peers.length} other sentinels`)
}

/** The port of the primary that all `sentinels` name. @throws when they do not agree, or there is none */
export const agreedPrimaryPort = async (sentinels: readonly RedisServer[], name: string): Promise<number> => {
  const named = await Promise.all(
    sentinels.map((sentinel) => sentinel.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)),
  )
  const ports = new Set(named.map((address) => Number((address as [string, string] | null)?.[1])))
  const [port] = ports
  expectState(port !== undefined, 'no sentinel is running')
  expectState(ports.size === 1, `the sentinels name the ports ${[...ports].join(' and ')}`)
  return Number(port)
}

const fields = (reply: unknown): Map<string, string> => {
  const flat = reply as string[]
  return new Map(
    Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i] ?? '', flat[2 * i + 1] ?? '']),
  )
}
