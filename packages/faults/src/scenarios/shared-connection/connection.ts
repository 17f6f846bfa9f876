import { once } from 'node:events'
import type { LockClientOptions } from '@holdfast/core'
import { LockClient } from '@holdfast/core'
import { Redis } from 'ioredis'
import { createClient } from 'redis'

/** How an application uses the connection that it shares with a LockClient. */
export interface SharedConnection {
  readonly locks: LockClient
  /** One command. */
  send(...command: string[]): Promise<unknown>
  /** `INCR key` in a transaction that goes out as one. @returns the new value; null: a watched key has changed */
  increment(key: string): Promise<number | null>
  end(): Promise<void>
}

const ofIoredis = async (port: number, options: LockClientOptions): Promise<SharedConnection> => {
  const redis = new Redis({ host: '127.0.0.1', port, disconnectTimeout: 50 })
  redis.on('error', () => undefined)
  await once(redis, 'ready')
  return {
    locks: new LockClient(redis, options),
    send: (name, ...args) => redis.call(name, ...args),
    increment: async (key) => {
      const results = await redis.multi().incr(key).exec()
      return results === null ? null : Number(results[0]?.[1])
    },
    end: async () => {
      const ended = once(redis, 'end')
      redis.disconnect()
      await ended
    },
  }
}

const ofNodeRedis = async (port: number, options: LockClientOptions): Promise<SharedConnection> => {
  const redis = createClient({ socket: { host: '127.0.0.1', port } })
  redis.on('error', () => undefined)
  await redis.connect()
  return {
    locks: new LockClient(redis, options),
    send: (...command) => redis.sendCommand(command),
    increment: async (key) => {
      try {
        const [value] = await redis.multi().incr(key).exec()
        return Number(value)
      } catch (error) {
        if (error instanceof Error && error.constructor.name === 'WatchError') return null
        throw error
      }
    },
    end: async () => redis.close(),
  }
}

const CLIENTS = { ioredis: ofIoredis, 'node-redis': ofNodeRedis }

export type ClientName = keyof typeof CLIENTS

export const CLIENT_NAMES = Object.keys(CLIENTS) as ClientName[]

export const connect = (
  client: ClientName,
  port: number,
  options: LockClientOptions,
): Promise<SharedConnection> => CLIENTS[client](port, options)
