import { InvalidArgumentError, type LockError } from '../errors.js'
import { warn } from '../events.js'
import type { Clock } from '../runtime/time.js'
import { lastsForGood, troubleInWords } from './connection-trouble.js'
import { notSent, refusal } from './failures.js'
import { isIoredisClient } from './ioredis/client.js'
import { isIoredisCluster } from './ioredis/cluster.js'
import { IoredisClusterPort, type PortOptions } from './ioredis/cluster-port.js'
import { IoredisPort } from './ioredis/port.js'
import { loadIoredis, loadIovalkey, loadNodeRedis, type NodeRedis } from './load-client.js'
import { isNodeRedisClient, OwnNodeRedis } from './node-redis/client.js'
import { NodeRedisPort } from './node-redis/port.js'
import type { RedisPort } from './redis-port.js'
import { olderThanSupported, unusableClient } from './unusable-client.js'

/**
 * A URL (`redis:`, `rediss:`, `valkey:` or `valkeys:`), options, or a client of your own, which stays yours. Options that
 * have a `url` or a `socket` are those of node-redis, all others those of ioredis.
 */
export type RedisTarget = string | object

/** @throws InvalidArgumentError */
export function portOf(client: unknown, options: PortOptions): RedisPort {
  if (isIoredisCluster(client)) {
    return new IoredisClusterPort(client, options)
  }
  if (isNodeRedisClient(client)) {
    return new NodeRedisPort(client, null)
  }
  const rule = unusableClient(client)
  if (rule !== null) {
    throw new InvalidArgumentError('redis', client, rule)
  }
  if (!isIoredisClient(client)) {
    throw new InvalidArgumentError(
      'redis',
      client,
      'an ioredis Redis or Cluster, 5 or 6, one of iovalkey, or a node-redis client, 5 or 6 (a URL or options: LockClient.connect)',
    )
  }
  return new IoredisPort(client, false)
}

/** Opens a connection of its own where the target is not one already. @throws InvalidArgumentError */
export async function connectPort(target: RedisTarget, options: PortOptions): Promise<RedisPort> {
  if (isNodeRedisClient(target)) {
    if (!target.isOpen) {
      // That is what node-redis wants to be told, and what `connect` is for. How it goes is told by events.
      target.connect().catch(() => undefined)
    }
    return portOf(target, options)
  }
  if (isIoredisCluster(target) || isIoredisClient(target) || unusableClient(target) !== null) {
    return portOf(target, options)
  }
  return openPort(target)
}

async function openPort(target: RedisTarget): Promise<RedisPort> {
  const isForNodeRedis = typeof target === 'object' && ('url' in target || 'socket' in target)
  const ioredis = isForNodeRedis ? null : await loadIoredis()
  if (ioredis) {
    return new IoredisPort(new ioredis.Redis(target), true)
  }
  const nodeRedis = isForNodeRedis || typeof target === 'string' ? await loadNodeRedis() : null
  if (nodeRedis) {
    return openNodeRedis(nodeRedis, typeof target === 'string' ? { url: target } : target)
  }
  const iovalkey = isForNodeRedis ? null : await loadIovalkey()
  if (iovalkey) {
    return new IoredisPort(new iovalkey.Redis(target), true)
  }
  throw notInstalled(target, isForNodeRedis)
}

/** @throws InvalidArgumentError what is installed is too old */
export function openNodeRedis(nodeRedis: NodeRedis, options: object): RedisPort {
  // That of node-redis 3 would begin to connect by being made; it has none of the functions that came later.
  const client = 'createClientPool' in nodeRedis ? nodeRedis.createClient(options) : null
  if (!isNodeRedisClient(client)) {
    // Without the options, which may have a password.
    throw new InvalidArgumentError(
      'target',
      'a target for the node-redis that is installed',
      olderThanSupported('a client'),
    )
  }
  return new NodeRedisPort(client, new OwnNodeRedis(client))
}

/** Without the URL itself, which may have a password. */
function notInstalled(target: RedisTarget, isForNodeRedis: boolean): InvalidArgumentError {
  if (typeof target === 'string') {
    const rule =
      'a client of your own unless ioredis, redis (node-redis) or iovalkey is installed, and none is'
    return new InvalidArgumentError('target', 'a URL', rule)
  }
  return new InvalidArgumentError(
    'target',
    target,
    isForNodeRedis
      ? 'a client, or a URL, unless redis (node-redis) is installed: `url` and `socket` are options of node-redis'
      : 'a client, or { url } or { socket } for node-redis, unless ioredis is installed, or iovalkey: these are options of ioredis',
  )
}

// Long enough for a Redis that is started beside its clients.
const SILENT_MS = 2_000

/**
 * Whoever waits in vain is told so after 2 s: nobody sees what a connection does.
 * @throws RedisUnavailableError not ready within `timeoutMs`; at once, when no attempt can succeed
 */
export function untilReady(port: RedisPort, clock: Clock, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      timers.forEach((timer) => timer.cancel())
      stopListening()
      settle()
    }
    const fail = (what: string, transient: boolean): void =>
      finish(() => reject(notSent(what, transient, port)))
    const timers = [
      clock.setTimer(timeoutMs, () => fail(`No connection to Redis within ${timeoutMs} ms`, true)),
      ...(timeoutMs > SILENT_MS ? [clock.setTimer(SILENT_MS, () => warnOfSilence(port, timeoutMs))] : []),
    ]
    const check = (): void => {
      if (port.state === 'ready') {
        finish(resolve)
      } else if (port.trouble && lastsForGood(port.trouble)) {
        fail('Redis cannot be connected to', false)
      } else if (port.state === 'ended') {
        fail('The Redis connection has ended', false)
      }
    }
    const stopListening = port.onStateChange(check)
    check()
  })
}

function warnOfSilence({ trouble, advice }: RedisPort, timeoutMs: number): void {
  const why = trouble ? `: ${troubleInWords(trouble)}` : ''
  const until = `It is tried on until ${timeoutMs} ms are over (unavailableTimeoutMs).`
  warn('HOLDFAST_CONNECTING', `No connection to Redis for ${SILENT_MS} ms${why}.${advice} ${until}`)
}

/** Why this user may not run scripts, without which there is no lock; null: it may, or Redis does not say. */
export async function refusalOfScripts(port: RedisPort): Promise<LockError | null> {
  const wanted = (): boolean => true
  const tries = [port.evalsha(NO_SCRIPT, [], [], wanted), port.eval(HARMLESS, [], [], wanted)]
  for (const { reason } of (await Promise.allSettled(tries)) as { reason?: unknown }[]) {
    if (port.isErrorReply(reason) && reason.message.startsWith('NOPERM')) {
      return refusal(reason, { keys: [] })
    }
  }
  return null
}

const NO_SCRIPT = '0'.repeat(40)
const HARMLESS = 'return 1'
