import { LockClient, type LockClientOptions } from '@holdfast/core'
import { Redis } from 'ioredis'

/** Clients on connections of their own, with the reconnect pauses that ioredis has by default: 50 ms, 100 ms, ... */
export const withClients = async <T>(
  each: readonly { readonly port: number; readonly options: LockClientOptions }[],
  use: (clients: LockClient[]) => Promise<T>,
): Promise<T> => {
  const connections = each.map(({ port }) => new Redis({ host: '127.0.0.1', port, disconnectTimeout: 50 }))
  const clients: LockClient[] = []
  try {
    for (const redis of connections) redis.on('error', () => undefined)
    clients.push(
      ...(await Promise.all(
        connections.map((redis, i) => LockClient.connect(redis, { bareCalls: 'allow', ...each[i]?.options })),
      )),
    )
    return await use(clients)
  } finally {
    await Promise.all(clients.map((client) => client.close({ graceMs: 0 })))
    for (const redis of connections) redis.disconnect()
  }
}

/** The result of a measurement: lines for the terminal, and what was not as promised. */
export interface Finding {
  readonly lines: readonly string[]
  readonly violations: readonly string[]
}

export const inMs = (value: number): string => `${Math.round(value)} ms`
