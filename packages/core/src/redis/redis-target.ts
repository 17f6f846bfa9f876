import type { IoredisScripting } from './ioredis/client.js'
import type { NodeRedisScripting } from './node-redis/client.js'
import type { RedisSource } from './redis-source.js'

/**
 * A client of ioredis, iovalkey or node-redis, or a `TestRedis` of `@holdfast/testing`. Structural, so that types resolve
 * without these packages and with two copies of them; the members that it must have besides are checked when it is given.
 */
export type RedisTarget =
  | (IoredisScripting & Record<'status', string>)
  | (NodeRedisScripting & Record<'isOpen', boolean>)
  | RedisSource
