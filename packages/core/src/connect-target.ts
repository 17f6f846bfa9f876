import { InvalidArgumentError } from './errors.js'
import { isPlainObject } from './plain-object.js'
import { isIoredisClient } from './redis/ioredis-client.js'
import { isIoredisCluster } from './redis/ioredis-cluster.js'
import type { PortOptions } from './redis/ioredis-cluster-port.js'
import { isNodeRedisClient, otherNodeRedisKind } from './redis/node-redis-client.js'
import { connectPort, type RedisTarget } from './redis/open-port.js'
import type { RedisPort } from './redis/redis-port.js'

/**
 * What `LockClient.connect` was given, as clients of Redis take it. They take anything, and go to localhost with it.
 * @throws InvalidArgumentError
 */
export function targetOf(given: unknown): RedisTarget {
  if (isUrl(given)) {
    return given.href
  }
  if (!isText(given) && !isPlainObject(given) && !isClient(given)) {
    const rule = 'a URL, options as a plain object, or a client of ioredis or node-redis'
    throw new InvalidArgumentError('target', given, rule)
  }
  return given
}

/** @throws InvalidArgumentError */
export async function openTarget(target: RedisTarget, options: PortOptions): Promise<RedisPort> {
  try {
    return await connectPort(target, options)
  } catch (error) {
    // Without the text and the cause, which has it: there may be a password in it.
    throw isOfUrl(error)
      ? new InvalidArgumentError(
          'target',
          'a text that is none',
          'a valid URL, such as "redis://localhost:6379"',
        )
      : error
  }
}

function isText(given: unknown): given is string {
  return typeof given === 'string' && given.trim() !== ''
}

function isUrl(given: unknown): given is URL {
  return Object.prototype.toString.call(given) === '[object URL]'
}

function isClient(given: unknown): given is object {
  return (
    isNodeRedisClient(given) ||
    isIoredisCluster(given) ||
    isIoredisClient(given) ||
    // Refused later on, by its name.
    otherNodeRedisKind(given) !== null
  )
}

/** As `new URL`, the decoding of its parts, and node-redis itself refuse one. */
function isOfUrl(error: unknown): boolean {
  const { code, name, message } = error as Partial<Error> & { code?: unknown }
  return (
    code === 'ERR_INVALID_URL' ||
    name === 'URIError' ||
    (name === 'TypeError' && /^Invalid (protocol|pathname)/.test(message ?? ''))
  )
}
