import { once } from 'node:events'
import type { RedisTarget } from '@holdfast/core'
import { Cluster, Redis } from 'ioredis'
import { createCluster, createSentinel } from 'redis'

/** Whose clients a LockClient is given. */
export const CARRIERS = ['ioredis', 'node-redis'] as const
export type CarrierName = (typeof CARRIERS)[number]

type OfNodeRedis = ReturnType<typeof createCluster> | ReturnType<typeof createSentinel>

/** A client that a LockClient is made of. */
export interface Carrier {
  readonly client: RedisTarget
  /** Resolves when its connections have ended. */
  end(): Promise<void>
}

interface Endpoint {
  readonly host: string
  readonly port: number
}

const RETRY_MS = 50

/** A client of node-redis that is connected, and whose errors nobody prints. */
const connected = (client: OfNodeRedis & { destroy(): unknown }): Carrier => {
  client.on('error', () => undefined)
  client.connect().catch(() => undefined)
  return {
    client,
    end: async () => {
      if (client.isOpen) await client.destroy()
    },
  }
}

const ofIoredis = (client: Redis | Cluster): Carrier => {
  client.on('error', () => undefined)
  return {
    client,
    end: async () => {
      const ended = once(client, 'end')
      client.disconnect()
      await ended
    },
  }
}

const socket = { reconnectStrategy: () => RETRY_MS }

export const clusterCarrier = (name: CarrierName, endpoints: readonly Endpoint[]): Carrier =>
  name === 'ioredis'
    ? ofIoredis(new Cluster([...endpoints], { clusterRetryStrategy: () => RETRY_MS }))
    : connected(
        createCluster({
          rootNodes: endpoints.map((each) => ({ socket: { ...each } })),
          defaults: { socket },
        }),
      )

export const sentinelCarrier = (name: CarrierName, endpoints: readonly Endpoint[], group: string): Carrier =>
  name === 'ioredis'
    ? ofIoredis(
        new Redis({
          sentinels: [...endpoints],
          name: group,
          sentinelRetryStrategy: () => RETRY_MS,
          failoverDetector: true,
          retryStrategy: () => RETRY_MS,
        }),
      )
    : connected(
        createSentinel({
          name: group,
          sentinelRootNodes: endpoints.map((each) => ({ ...each })),
          nodeClientOptions: { socket },
        }),
      )
