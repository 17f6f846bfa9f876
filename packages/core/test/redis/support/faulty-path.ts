import type { FaultProxy } from '@holdfast/faults/harness'
import { LockClient, type LockClientOptions } from '../../../src/index.js'
import { useClusterRig } from './cluster-rig.js'
import { targetAt } from './carrier.js'
import { soon, useRig } from './rig.js'

/** How a client gets to its servers, through proxies that misbehave, and another that goes straight. */
export interface FaultyPath {
  readonly proxies: readonly FaultProxy[]
  /** A client that was given its connection, to be closed after the test. */
  client(options: LockClientOptions): Promise<LockClient>
  /** One that Holdfast has connected itself; of a cluster there is none. */
  readonly connected: ((options: LockClientOptions) => Promise<LockClient>) | null
  /** Not through the proxies. */
  other(options?: LockClientOptions): Promise<LockClient>
  /** How many listen to the channel, at any server. */
  listeners(channel: string): Promise<number>
}

const QUIET = { bareCalls: 'allow', onContextEnd: 'keep' } as const

/** To be called at the top of a describe block. @returns what opens the path of one test */
export function usePathToOneServer(): () => Promise<FaultyPath> {
  const rig = useRig()
  return async () => {
    const proxy = await rig.proxy()
    return {
      proxies: [proxy],
      client: (options) => rig.client(options, rig.connection({}, proxy)),
      connected: async (options) => {
        const target = targetAt(proxy.port, rig.connectionName)
        const client = await LockClient.connect(target, { ...QUIET, ...options })
        rig.atEnd(() => client.close({ graceMs: 0 }))
        return client
      },
      other: (options) => rig.client(options),
      listeners: async (channel) => Number((await rig.admin.pubsub('NUMSUB', channel))[1]),
    }
  }
}

/** To be called at the top of a describe block. @returns what opens the path of one test */
export function usePathToCluster(): () => Promise<FaultyPath> {
  const rig = useClusterRig({ replicasPerPrimary: 0 })
  return async () => {
    rig.begin()
    const { proxies, natMap } = await rig.proxied()
    return {
      proxies,
      client: (options) => rig.client({ ...QUIET, ...options }, rig.connection({ natMap })),
      connected: null,
      other: (options) => rig.client({ ...QUIET, ...options }),
      listeners: async (channel) => {
        const kinds = ['SHARDNUMSUB', 'NUMSUB'] as const
        const there = await Promise.all(kinds.map((kind) => rig.listening(channel, kind)))
        return there.flat().length
      },
    }
  }
}

/** On each topology: what happens does not depend on it. */
export const PATHS = [
  ['one server', usePathToOneServer],
  ['a cluster', usePathToCluster],
] as const

/** How many connections there have been through the proxies. */
export function accepted({ proxies }: FaultyPath): number {
  return proxies.reduce((sum, each) => sum + each.accepted, 0)
}

/** The lock goes from a hold to who waits for it; resolves with how long that took, ms. */
export async function handOver(
  hold: { release(): Promise<unknown> },
  waiting: Promise<unknown>,
): Promise<number> {
  const startMs = performance.now()
  const got = soon(waiting).then(() => performance.now())
  await hold.release()
  return (await got) - startMs
}
