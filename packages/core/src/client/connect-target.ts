import { InvalidArgumentError } from '../errors.js'
import { isPlainObject } from '../runtime/plain-object.js'
import type { PortOptions } from '../redis/port-options.js'
import { connectPort, isClient, type RedisTarget } from '../redis/open-port.js'
import type { RedisPort } from '../redis/redis-port.js'
import { unusableOptions } from '../redis/unusable-client.js'

/** The scheme of a URL: `localhost:6379` and `/run/redis.sock` have none. */
const SCHEME = /^([a-z][a-z\d+.-]*):\/\//i
const OF_REDIS = /^rediss?$/i
const OF_VALKEY = /^valkey(s?):\/\//i

/**
 * Checks the argument of `LockClient.connect`. Redis clients accept anything, and then connect to localhost.
 * @throws InvalidArgumentError
 */
export function targetOf(given: unknown): RedisTarget {
  if (isUrl(given)) {
    return urlOf(given.href)
  }
  if (isText(given)) {
    return urlOf(given)
  }
  if (isClient(given)) {
    return given
  }
  if (!isPlainObject(given)) {
    const rule = 'a URL, options as a plain object, or a client of ioredis, iovalkey or node-redis'
    throw new InvalidArgumentError('target', given, rule)
  }
  const rule = unusableOptions(given)
  if (rule !== null) {
    throw new InvalidArgumentError('target', given, rule)
  }
  const { url } = given as { readonly url?: unknown }
  return typeof url === 'string' && OF_VALKEY.test(url) ? { ...given, url: urlOf(url) } : given
}

/**
 * Valkey's schemes are Redis's under another name, and most clients know only Redis's.
 * @throws InvalidArgumentError
 */
function urlOf(text: string): string {
  const url = text.trim().replace(OF_VALKEY, 'redis$1://')
  const scheme = SCHEME.exec(url)?.[1]
  // ioredis takes any other scheme for a host name.
  if (scheme !== undefined && !OF_REDIS.test(scheme)) {
    // Without the URL, which may contain a password.
    const rule = 'a URL that begins with redis://, rediss://, valkey:// or valkeys://'
    throw new InvalidArgumentError('target', `a URL that begins with ${scheme}://`, rule)
  }
  return url
}

/** @throws InvalidArgumentError */
export async function openTarget(target: RedisTarget, options: PortOptions): Promise<RedisPort> {
  try {
    return await connectPort(target, options)
  } catch (error) {
    // Without the URL and the error that quotes it: it may contain a password.
    throw isOfUrl(error)
      ? new InvalidArgumentError('target', 'an invalid URL', 'a valid URL, such as "redis://localhost:6379"')
      : error
  }
}

function isText(given: unknown): given is string {
  return typeof given === 'string' && given.trim() !== ''
}

function isUrl(given: unknown): given is URL {
  return Object.prototype.toString.call(given) === '[object URL]'
}

/** Whether `new URL`, the decoding of a URL's parts, or node-redis rejected the URL. */
function isOfUrl(error: unknown): boolean {
  const { code, name, message } = error as Partial<Error> & { code?: unknown }
  return (
    code === 'ERR_INVALID_URL' ||
    name === 'URIError' ||
    (name === 'TypeError' && /^Invalid (protocol|pathname)/.test(message ?? ''))
  )
}
