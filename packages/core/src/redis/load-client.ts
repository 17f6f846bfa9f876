import type { IoredisClient } from './ioredis/client.js'

interface Ioredis {
  readonly Redis: new (target: string | object) => IoredisClient
}

/** Any version: an old one is recognized by the client it creates. */
export interface NodeRedis {
  createClient(options: object): object
}

// Each import is literal and inside a `try`: bundlers then resolve it and accept that it may be missing.

/** null: not installed. */
export async function loadIoredis(): Promise<Ioredis | null> {
  try {
    return await import('ioredis')
  } catch (error) {
    return nullIfMissing(error, 'ioredis')
  }
}

/** null: not installed. */
export async function loadIovalkey(): Promise<Ioredis | null> {
  try {
    const iovalkey: unknown = await import('iovalkey')
    return iovalkey as Ioredis
  } catch (error) {
    return nullIfMissing(error, 'iovalkey')
  }
}

/** Loads `redis`, or the `@redis/client` inside it. null: neither is installed. */
export async function loadNodeRedis(): Promise<NodeRedis | null> {
  try {
    return await import('redis')
  } catch (error) {
    nullIfMissing(error, 'redis')
  }
  try {
    return await import('@redis/client')
  } catch (error) {
    return nullIfMissing(error, '@redis/client')
  }
}

/** @throws any other error: a client that is installed but broken must not seem to be missing */
export function nullIfMissing(error: unknown, name: string): null {
  const { code, message } = error as { code?: unknown; message?: unknown }
  // The codes of import(), and of the require() it becomes in the CommonJS build.
  const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
  // Node and Jest quote the name; Yarn Plug'n'Play puts it in a line of its own.
  const required = `Required package: ${name}`
  const named = [`'${name}'`, `${required}\n`, `${required} (via`]
  if (isMissing && named.some((each) => String(message).includes(each))) {
    return null
  }
  throw error
}
