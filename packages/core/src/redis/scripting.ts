import type { IoredisScripting } from './ioredis/client.js'
import type { NodeRedisScripting } from './node-redis/client.js'

/** Runs scripts on a user's client, which adds its own `keyPrefix` to keys. */
export interface Scripting {
  evalsha(sha1: string, keys: string[], args: string[]): Promise<unknown>
  eval(lua: string, keys: string[], args: string[]): Promise<unknown>
}

/** null: not a client. */
export function scriptingOf(redis: IoredisScripting | NodeRedisScripting): Scripting | null {
  const client = redis as Partial<IoredisScripting & NodeRedisScripting> | null
  if (typeof client?.evalsha === 'function') {
    const ioredis = redis as IoredisScripting
    return {
      evalsha: (sha1, keys, args) => ioredis.evalsha(sha1, keys.length, ...keys, ...args),
      eval: (lua, keys, args) => ioredis.eval(lua, keys.length, ...keys, ...args),
    }
  }
  if (typeof client?.evalSha === 'function') {
    const nodeRedis = redis as NodeRedisScripting
    return {
      evalsha: (sha1, keys, args) => nodeRedis.evalSha(sha1, { keys, arguments: args }),
      eval: (lua, keys, args) => nodeRedis.eval(lua, { keys, arguments: args }),
    }
  }
  return null
}
