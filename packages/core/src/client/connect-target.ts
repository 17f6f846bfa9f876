import { InvalidArgumentError } from '../errors.js'
import { checkDatabase } from '../redis/database.js'
import { isPlainObject } from '../runtime/plain-object.js'
import type { PortOptions } from '../redis/port-options.js'
import { connectPort, isClient, type ConnectTarget } from '../redis/open-port.js'
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
export function targetOf(given: unknown): ConnectTarget {
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
  const { url, db, database } = given as Partial<Record<'url' | 'db' | 'database', unknown>>
  checkDatabase(db ?? database)
  // The scheme unix:, of node-redis alone, is left to it.
  return typeof url === 'string' && !/^unix:/i.test(url) ? { ...given, url: urlOf(url, database) } : given
}

/**
 * Valkey's schemes are Redis's under another name, and most clients know only Redis's. Text without a scheme is a host,
 * which only ioredis knows, or the path of a socket.
 * @throws InvalidArgumentError
 */
function urlOf(text: string, database?: unknown): string {
  const url = text.trim().replace(OF_VALKEY, 'redis$1://')
  const scheme = SCHEME.exec(url)?.[1]
  // ioredis takes any other scheme for a host name.
  if (scheme !== undefined && !OF_REDIS.test(scheme)) {
    // Without the URL, which may contain a password.
    const rule = 'a URL that begins with redis://, rediss://, valkey:// or valkeys://'
    throw new InvalidArgumentError('target', `a URL that begins with ${scheme}://`, rule)
  }
  if (scheme !== undefined) {
    return withDatabase(url, database)
  }
  if (/^\/(?!\/)/.test(url)) {
    checkDatabase(new URLSearchParams(url.split('?')[1]).get('db'))
    return url
  }
  const host = url.replace(/^\/\//, '')
  return withDatabase(/^\d+$/.test(host) ? `redis://localhost:${host}` : `redis://${host}`, database)
}

/**
 * The URL with its database as its path: node-redis ignores `?db=3`, and clients read what is no number as 0, or as the
 * number that it begins with.
 * @param other a database that was given beside the URL
 * @throws InvalidArgumentError
 */
function withDatabase(text: string, other: unknown): string {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    // The client says so.
    return text
  }
  const queried = url.searchParams.getAll('db')
  const given = [url.pathname.slice(1), ...queried].filter((each) => each !== '')
  given.forEach(checkDatabase)
  const numbers = new Set([...given, ...(typeof other === 'number' ? [other] : [])].map(Number))
  if (numbers.size > 1) {
    throw new InvalidArgumentError('database', [...numbers], 'one: the URL and the options name several')
  }
  if (queried.length === 0) {
    return text
  }
  url.searchParams.delete('db')
  url.pathname = given[0] ?? ''
  return url.href
}

/** @throws InvalidArgumentError */
export async function openTarget(target: ConnectTarget, options: PortOptions): Promise<RedisPort> {
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
    (name === 'TypeError' &&
      /^(Invalid (protocol|pathname|unix URL|db query)|Protocol - )/.test(message ?? ''))
  )
}
