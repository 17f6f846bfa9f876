import type { RedisServer } from './redis-server.js'
import { expectState, observe } from './observe.js'

/** Arguments of a server whose replication is started, or cut, at run time. */
export const REPLICATION_ARGS: readonly string[] = [
  // After a diskless one the primary says `online` and yet streams no write before the next ACK, up to 1 s on.
  ...['--repl-diskless-sync', 'no'],
  // Or a server would come back from a crash with data of some earlier synchronisation.
  ...['--rdb-del-sync-files', 'yes'],
]

const REPLICATION_USER = 'replication'

/** Lets `cutLinks` refuse replicas and nobody else; needs ACLs, so Redis 6 or later. */
export const CUTTABLE_ARGS: readonly string[] = [
  // Valkey 9 moves slots as this user, too, and writes what is in them.
  ...['--user', REPLICATION_USER, 'on', 'nopass', '~*', '+@all'],
  ...['--masteruser', REPLICATION_USER, '--masterauth', 'any'],
]

/** The fields of `INFO replication`. */
export const replicationInfo = async (server: RedisServer): Promise<Map<string, string>> => {
  const info = String(await server.command('INFO', 'replication'))
  return new Map(
    Array.from(info.matchAll(/^([^:#\s]+):(.*)$/gm), ([, key, value]) => [key ?? '', value ?? '']),
  )
}

/** Resolves when all `replicas` are linked to `primary` and have what it had written when it was asked. */
export const inSync = (primary: RedisServer, replicas: readonly RedisServer[]): Promise<void> =>
  observe(`replicas of ${primary.url} in sync`, [primary, ...replicas], async () => {
    const ofPrimary = await replicationInfo(primary)
    expectState(ofPrimary.get('role') === 'master', `${primary.url} is no primary`)
    for (const replica of replicas) {
      const own = await replicationInfo(replica)
      expectState(own.get('master_link_status') === 'up', `the link of ${replica.url} is down`)
      // The link that is up may still be the one to an earlier primary.
      const known = new RegExp(`,port=${replica.port},state=online,`).test([...ofPrimary.values()].join('\n'))
      expectState(known, `${primary.url} does not know ${replica.url}`)
      const lag = Number(ofPrimary.get('master_repl_offset')) - Number(own.get('slave_repl_offset'))
      expectState(lag <= 0, `${replica.url} lags ${lag} bytes behind`)
    }
  })

/** Ends the links to all replicas of `primary` and refuses new ones, as when only their network fails. */
export const cutLinks = async (primary: RedisServer): Promise<void> => {
  await primary.command('ACL', 'SETUSER', REPLICATION_USER, 'off')
  await observe(`${primary.url} without replicas`, [primary], async () => {
    await primary.command('CLIENT', 'KILL', 'TYPE', 'replica')
    const info = await replicationInfo(primary)
    expectState(info.get('connected_slaves') === '0', `${info.get('connected_slaves') ?? 'no'} are connected`)
  })
}

/** Undoes `cutLinks`; replicas try again each second. */
export const allowLinks = async (servers: readonly RedisServer[]): Promise<void> => {
  await Promise.all(servers.map((server) => server.command('ACL', 'SETUSER', REPLICATION_USER, 'on')))
}
