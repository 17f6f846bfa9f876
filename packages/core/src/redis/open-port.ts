import { InvalidArgumentError, RedisUnavailableError } from '../errors.js'
import type { Clock } from '../system-clock.js'
import { isIoredisClient, type IoredisClient } from './ioredis-client.js'
import { isIoredisCluster } from './ioredis-cluster.js'
import { IoredisClusterPort, type ClusterPortOptions } from './ioredis-cluster-port.js'
import { IoredisPort } from './ioredis-port.js'
import type { RedisPort } from './redis-port.js'

/** A URL, options of ioredis, or a client of your own, which stays yours. */
export type RedisTarget = string | object

/** @throws InvalidArgumentError */
export function portOf(client: unknown, options: ClusterPortOptions): RedisPort {
  if (isIoredisCluster(client)) {
    return new IoredisClusterPort(client, options)
  }
  if (!isIoredisClient(client)) {
    throw new InvalidArgumentError(
      'redis',
      client,
      'an ioredis Redis or Cluster, 5 or 6 (a URL or options: LockClient.connect)',
    )
  }
  return new IoredisPort(client, false)
}

/** Opens a connection of its own where the target is not one already. @throws InvalidArgumentError */
export async function connectPort(target: RedisTarget, options: ClusterPortOptions): Promise<RedisPort> {
  if (isIoredisCluster(target) || isIoredisClient(target)) {
    return portOf(target, options)
  }
  if (typeof target !== 'string' && (typeof target !== 'object' || (target as unknown) === null)) {
    throw new InvalidArgumentError('target', target, 'a URL, options of ioredis, or an ioredis client')
  }
  const { Redis } = (await import('ioredis')) as unknown as {
    Redis: new (target: RedisTarget) => IoredisClient
  }
  return new IoredisPort(new Redis(target), true)
}

/** @throws RedisUnavailableError not ready within `timeoutMs` */
export function untilReady(port: RedisPort, clock: Clock, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      timer.cancel()
      stopListening()
      settle()
    }
    const fail = (message: string): void =>
      finish(() => reject(new RedisUnavailableError(message, { outcome: 'not-sent', transient: true })))
    const timer = clock.setTimer(timeoutMs, () => fail(`No connection to Redis within ${timeoutMs} ms.`))
    const check = (): void => {
      if (port.state === 'ready') {
        finish(resolve)
      } else if (port.state === 'ended') {
        fail('The Redis connection has ended.')
      }
    }
    const stopListening = port.onStateChange(check)
    check()
  })
}
