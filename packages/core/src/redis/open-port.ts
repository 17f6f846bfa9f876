import { InvalidArgumentError, type LockError } from '../errors.js'
import { warn } from '../events.js'
import { afterAnswers, type Runtime } from '../runtime/runtime.js'
import { checkDatabase, refusedDatabase } from './database.js'
import { lastsForGood, troubleInWords } from './connection-trouble.js'
import { adviceWithoutConnection, cannotConnect, connectionEnded, notSent, refusal } from './failures.js'
import { isIoredisClient } from './ioredis/client.js'
import { isIoredisCluster } from './ioredis/cluster.js'
import { IoredisClusterPort } from './ioredis/cluster-port.js'
import { IoredisPort } from './ioredis/port.js'
import { loadIoredis, loadIovalkey, loadNodeRedis, type NodeRedis } from './load-client.js'
import { isNodeRedisClient, LastingNodeRedis, NOT_MOVED } from './node-redis/client.js'
import { NodeRedisClusterPort } from './node-redis/cluster-port.js'
import { poolOrigin, sentinelOrigin } from './node-redis/origins.js'
import { OwnCarrier } from './node-redis/own-carrier.js'
import { NodeRedisPort } from './node-redis/port.js'
import {
  isNodeRedisCluster,
  isNodeRedisOfSeveral,
  isNodeRedisSentinel,
  keyPrefixOf,
  type NodeRedisOfSeveral,
} from './node-redis/several.js'
import type { PortOptions, PortTiming } from './port-options.js'
import type { RedisPort } from './redis-port.js'
import { sourceIn } from './redis-source.js'
import type { RunBy, ScriptRun } from './script-run.js'
import { olderThanSupported, unusableClient } from './unusable-client.js'

/**
 * A URL (`redis:`, `rediss:`, `valkey:` or `valkeys:`), options, or an existing client, which the caller keeps
 * owning. Options with a `url` or a `socket` are for node-redis, all others for ioredis.
 */
export type ConnectTarget = string | object

/** @throws InvalidArgumentError */
export function portOf(client: unknown, options: PortOptions): RedisPort {
  const source = sourceIn(client)
  if (source) {
    return source.open(options.background)
  }
  if (isIoredisCluster(client)) {
    return new IoredisClusterPort(client, options)
  }
  if (isNodeRedisClient(client)) {
    return new NodeRedisPort(client, null, options)
  }
  if (isNodeRedisOfSeveral(client)) {
    return portOfSeveral(client, options)
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
  // ioredis turns text into NaN.
  checkDatabase(client.options.db)
  return new IoredisPort(client, false, options)
}

/** Over connections of our own, with the options of the client's. */
function portOfSeveral(client: NodeRedisOfSeveral, options: PortOptions): RedisPort {
  if (isNodeRedisCluster(client)) {
    return new NodeRedisClusterPort(client, options)
  }
  const origin = isNodeRedisSentinel(client) ? sentinelOrigin(client) : poolOrigin(client)
  const carrier = new OwnCarrier(options.background, origin)
  return new NodeRedisPort(carrier, carrier, options, keyPrefixOf(client))
}

/** Opens a connection unless the target is a client already. @throws InvalidArgumentError */
export async function connectPort(target: ConnectTarget, options: PortOptions): Promise<RedisPort> {
  if (isNodeRedisClient(target) || isNodeRedisOfSeveral(target)) {
    if (!target.isOpen) {
      // node-redis requires an explicit connect(). Its result arrives as events.
      target.connect().catch(() => undefined)
    }
    return portOf(target, options)
  }
  if (isClient(target)) {
    return portOf(target, options)
  }
  return openPort(target, options)
}

/** Whether `portOf` takes it, or rejects it with its name in the message. */
export function isClient(given: unknown): given is object {
  return (
    isNodeRedisClient(given) ||
    isNodeRedisOfSeveral(given) ||
    isIoredisCluster(given) ||
    isIoredisClient(given) ||
    sourceIn(given) !== null ||
    unusableClient(given) !== null
  )
}

async function openPort(target: ConnectTarget, timing: PortTiming): Promise<RedisPort> {
  const isForNodeRedis = typeof target === 'object' && ('url' in target || 'socket' in target)
  const socket = socketIn(target)
  const ioredis = isForNodeRedis ? null : await loadIoredis()
  if (ioredis) {
    return new IoredisPort(new ioredis.Redis(socket ?? target), true, timing)
  }
  const nodeRedis = isForNodeRedis || typeof target === 'string' ? await loadNodeRedis() : null
  if (nodeRedis) {
    const options = typeof target === 'string' ? { url: target } : target
    return openNodeRedis(
      nodeRedis,
      socket ? { socket: { path: socket.path }, database: Number(socket.db ?? 0) } : options,
      timing,
    )
  }
  const iovalkey = isForNodeRedis ? null : await loadIovalkey()
  if (iovalkey) {
    return new IoredisPort(new iovalkey.Redis(socket ?? target), true, timing)
  }
  throw notInstalled(target, isForNodeRedis)
}

/** The path of a socket, with options behind a question mark: of each client only the newest versions read that. */
function socketIn(target: ConnectTarget): { readonly path: string; readonly db?: string } | null {
  if (typeof target !== 'string' || !target.startsWith('/')) {
    return null
  }
  const [path = '', query] = target.split('?', 2)
  return { ...Object.fromEntries(new URLSearchParams(query)), path }
}

/** @throws InvalidArgumentError the installed version is too old */
export function openNodeRedis(nodeRedis: NodeRedis, options: object, timing: PortTiming): RedisPort {
  // Creating a client of node-redis 3 would start to connect; that version lacks the later functions.
  const client = 'createClientPool' in nodeRedis ? nodeRedis.createClient({ ...options, ...NOT_MOVED }) : null
  if (!isNodeRedisClient(client)) {
    // Without the options, which may contain a password.
    throw new InvalidArgumentError(
      'target',
      'a target for the node-redis that is installed',
      olderThanSupported('a client'),
    )
  }
  return new NodeRedisPort(client, new LastingNodeRedis(client, timing.background), timing)
}

/** Without the URL, which may contain a password. */
function notInstalled(target: ConnectTarget, isForNodeRedis: boolean): InvalidArgumentError {
  if (typeof target === 'string') {
    const rule = 'an existing client: neither ioredis, redis (node-redis) nor iovalkey is installed'
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

// Long enough for a Redis that is started together with its clients.
const SILENT_MS = 2_000

/**
 * Waits for the connection, and warns after 2 s: until then a failing connection is invisible.
 * @throws RedisUnavailableError not ready within `timeoutMs`; at once if no attempt can succeed
 */
export function untilReady(
  port: RedisPort,
  runtime: Pick<Runtime, 'now' | 'setTimer' | 'afterTurn'>,
  timeoutMs: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      timers.forEach((timer) => timer.cancel())
      stopListening()
      settle()
    }
    const fail = (error: Error): void => finish(() => reject(error))
    const after = (ms: number, then: () => void) => afterAnswers(runtime, ms, then, () => ms)
    const timers = [
      after(timeoutMs, () => fail(notSent(`No connection to Redis within ${timeoutMs} ms`, true, port))),
      ...(timeoutMs > SILENT_MS ? [after(SILENT_MS, () => warnOfSilence(port, timeoutMs))] : []),
    ]
    const check = (): void => {
      if (port.state === 'ready') {
        finish(resolve)
      } else if (port.refused !== undefined) {
        fail(refusedDatabase(port))
      } else if (port.trouble && lastsForGood(port.trouble)) {
        fail(cannotConnect(port))
      } else if (port.state === 'ended') {
        fail(connectionEnded(port))
      }
    }
    const stopListening = port.onStateChange(check)
    check()
  })
}

function warnOfSilence(port: RedisPort, timeoutMs: number): void {
  const { trouble } = port
  const why = trouble ? `: ${troubleInWords(trouble)}` : ''
  const until = `Retrying until ${timeoutMs} ms have passed (unavailableTimeoutMs).`
  warn(
    'HOLDFAST_CONNECTING',
    `No connection to Redis for ${SILENT_MS} ms${why}.${adviceWithoutConnection(port)} ${until}`,
  )
}

/** The reason why no script runs for this user, which every lock needs; null: it does, or Redis does not say. */
export async function refusalOfScripts(port: RedisPort): Promise<LockError | null> {
  for (const reason of await Promise.all([errorOf(port, 'evalsha'), errorOf(port, 'eval')])) {
    if (port.isErrorReply(reason) && RUNS_NO_SCRIPT.test(reason.message)) {
      return refusal(reason, { keys: [] })
    }
  }
  return null
}

/** Undefined: it was answered. */
function errorOf(port: RedisPort, by: RunBy): Promise<unknown> {
  return new Promise((failed) =>
    port.run(HARMLESS, by, { isWanted: () => true, answered: () => failed(undefined), failed }),
  )
}

/** No server knows its digest. */
const HARMLESS: ScriptRun = { script: { sha1: '0'.repeat(40), lua: 'return 1' }, keys: [], args: [] }
// Valkey 9.1 and later can be started without Lua.
const RUNS_NO_SCRIPT = /^NOPERM |^ERR Could not find scripting engine/
